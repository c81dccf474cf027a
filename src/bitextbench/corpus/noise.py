"""Makes bad pairs of known kinds from good ones."""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from bitextbench.base.errors import InputError
from bitextbench.base.languages import matching, spaced
from bitextbench.corpus.words import join, words
from bitextbench.formats.bitext import PARALLEL

DEFAULT_PROPORTIONS = {
    "misaligned": 0.24,
    "neighbour": 0.07,
    "partial": 0.06,
    "truncated": 0.04,
    "wrong_language": 0.15,
    "copy": 0.04,
    "boilerplate": 0.06,
    "garbled": 0.03,
    "changed_fact": 0.03,
    "salad": 0.03,
    "duplicate": 0.02,
}
"""As in a raw crawl: 23% parallel, 41% misaligned in one way or another (the first four kinds), the rest mostly the
wrong language or none. Khayrallah and Koehn (2018) counted about these shares in raw ParaCrawl German-English."""

SAMPLE = 10_000  # rows from which names, frequent words and bigrams are taken
FALLBACKS = ("misaligned", "boilerplate")  # where a kind cannot be made of a row; the last one always can
Pair = tuple[str, str]


def add_noise(table: pa.Table, proportions: Mapping[str, float], seed: int, languages: tuple[str, str]) -> pa.Table:
    """Turn good pairs into bad ones; the column `label` names the kind of each row.

    `table` has the columns src, tgt, doc, label of a corpus, all in memory. Every row labelled "parallel" draws a kind
    by `proportions` (the rest stays as it is); other rows stay as they are, and noise may use their text. Where a kind
    cannot be made of a row (no neighbour in its document, nothing to change), the row becomes "misaligned", or else
    "boilerplate", and has that label. "duplicate" keeps the row and adds a copy after it. The order of rows is kept.

    All draws are from `seed`; how Arrow has chunked the rows does not matter.

    Raises InputError for a sum of proportions above 1, and for a row with one side.
    """
    shares = _shares(proportions)
    src, tgt, doc, label = (table[name].to_pylist() for name in ("src", "tgt", "doc", "label"))
    if None in src or None in tgt:
        raise InputError("noise needs both sides of every pair", remedy="leave `noise` out for monolingual text")
    rng = np.random.default_rng(seed)
    pool = Pool(src, tgt, doc, languages, rng)
    drawn = rng.choice([*shares, PARALLEL], size=len(src), p=[*shares.values(), 1 - sum(shares.values())])
    out: list[tuple[str, str, str, str]] = []
    for i, kind in enumerate(drawn.tolist()):
        if label[i] != PARALLEL or kind in (PARALLEL, "duplicate"):
            out.append((src[i], tgt[i], doc[i], label[i]))
        if label[i] == PARALLEL and kind != PARALLEL:
            name, pair = next((name, pair) for name in (kind, *FALLBACKS) if (pair := KINDS[name](pool, i)))
            out.append((*pair, doc[i], name))
    columns = zip(*out, strict=True) if out else [()] * 4
    return pa.table([pa.array(column, pa.string()) for column in columns], ["src", "tgt", "doc", "label"])


def _shares(proportions: Mapping[str, float]) -> dict[str, float]:
    """The proportions in the order of KINDS, so that the order of the mapping does not matter. Raises InputError for a sum
    above 1.
    """
    shares = {kind: float(proportions[kind]) for kind in KINDS if kind in proportions}
    if sum(shares.values()) > 1 + 1e-9:
        raise InputError(
            f"the proportions add up to {sum(shares.values()):g}", "noise", remedy="at most 1; the rest stays parallel"
        )
    total = sum(shares.values())
    return shares if total <= 1 else {kind: share / total for kind, share in shares.items()}


class Pool:
    """The rows that noise is made of, a random generator, and statistics of all rows."""

    def __init__(
        self, src: list[str], tgt: list[str], doc: list[str], languages: Pair, rng: np.random.Generator
    ) -> None:
        self.sides = (src, tgt)
        self.doc = doc
        self.languages = languages
        self.rng = rng

    def pair(self, i: int) -> Pair:
        return self.sides[0][i], self.sides[1][i]

    def below(self, n: int) -> int:
        """A random whole number from 0 to n - 1."""
        return int(self.rng.random() * n)

    def side(self) -> int:
        return self.below(2)

    def pick(self, choices: Sequence[str]) -> str:
        return choices[self.below(len(choices))]

    def replaced(self, i: int, side: int, text: str) -> Pair:
        """Row i with another text on one side."""
        pair = self.pair(i)
        return (text, pair[1]) if side == 0 else (pair[0], text)

    @cached_property
    def distinct(self) -> list[int]:
        """One row for every distinct target, so that repeated lines are not drawn more often."""
        return [*{text: i for i, text in reversed([*enumerate(self.sides[1])])}.values()]

    def other(self, i: int) -> int | None:
        """A random row whose sides both differ from row i, of another document if one is drawn; None for none."""
        src, tgt = self.sides
        n = len(self.distinct)
        drawn = (self.distinct[self.below(n)] for _ in range(8))
        scan = (self.distinct[(i + k) % n] for k in range(min(n, 64)))  # few texts: all draws may fail
        differs = (j for j in chain(drawn, scan) if src[j] != src[i] and tgt[j] != tgt[i])
        best = None
        for j in differs:
            if not self.doc[i] or self.doc[j] != self.doc[i]:
                return j
            best = j if best is None else best
        return best

    def neighbour(self, i: int) -> int | None:
        """The row before or after, if it is in the same document and has other text; None otherwise."""
        near_by = [i + 1, i - 1] if self.side() else [i - 1, i + 1]
        src, tgt = self.sides
        for j in near_by:
            same_document = 0 <= j < len(src) and self.doc[i] and self.doc[j] == self.doc[i]
            if same_document and src[j] != src[i] and tgt[j] != tgt[i]:
                return j
        return None

    @cached_property
    def followers(self) -> tuple[dict[str, list[str]], ...]:
        """For each side, the words that follow each word: a bigram model. "" marks the start and the end."""
        models: tuple[dict[str, list[str]], ...] = (defaultdict(list), defaultdict(list))
        for model, texts, language in zip(models, self.sides, self.languages, strict=True):
            for text in texts[:SAMPLE]:
                last = ""
                for word in (*words(text, language), ""):
                    model[last].append(word)
                    last = word
        return models

    @cached_property
    def frequent(self) -> tuple[list[str], ...]:
        """For each side, the 100 most frequent words."""
        counts = [Counter({word: len(after) for word, after in model.items() if word}) for model in self.followers]
        return tuple(sorted(count, key=lambda word: (-count[word], word))[:100] or ["..."] for count in counts)

    @cached_property
    def names(self) -> tuple[list[str], ...]:
        """For each side, all capitalised words inside sentences (in German, nouns too), with repetitions."""
        return tuple([name for text in texts[:SAMPLE] for name in NAME.findall(text)] for texts in self.sides)


def misaligned(pool: Pool, i: int) -> Pair | None:
    """The target of another row, from another document if possible."""
    j = pool.other(i)
    return None if j is None else pool.replaced(i, 1, pool.sides[1][j])


def neighbour(pool: Pool, i: int) -> Pair | None:
    """The target of the sentence before or after in the same document."""
    j = pool.neighbour(i)
    return None if j is None else pool.replaced(i, 1, pool.sides[1][j])


def copy(pool: Pool, i: int) -> Pair | None:
    """The same text on both sides: it was never translated."""
    text = pool.sides[pool.side()][i]
    return text, text


def wrong_language(pool: Pool, i: int) -> Pair | None:
    """The sides swapped, or both in one language: one side is replaced by text of another row in the wrong language."""
    j, side = pool.other(i), pool.side()
    if pool.side() or j is None:
        return (pool.sides[1][i], pool.sides[0][i]) if pool.sides[0][i] != pool.sides[1][i] else None
    return pool.replaced(i, side, pool.sides[1 - side][j])


def partial(pool: Pool, i: int) -> Pair | None:
    """One side has only a clause or half of its words, or has the next sentence of the document, too."""
    side = pool.side()
    text, language = pool.sides[side][i], pool.languages[side]
    follows = (
        i + 1 < len(pool.doc) and pool.doc[i] and pool.doc[i + 1] == pool.doc[i] and pool.sides[side][i + 1].strip()
    )
    if follows and pool.below(3) == 0:
        return pool.replaced(i, side, join([text, pool.sides[side][i + 1]], language))
    clauses = [m.end() for m in CLAUSE.finditer(text) if 0.25 * len(text) < m.end() < 0.75 * len(text)]
    if clauses:
        cut = clauses[pool.below(len(clauses))]
        return pool.replaced(i, side, pool.pick([text[:cut].rstrip(), text[cut:].lstrip()]))
    tokens = words(text, language)
    half = len(tokens) // 2
    return pool.replaced(i, side, join(tokens[:half] if pool.side() else tokens[half:], language)) if half else None


def truncated(pool: Pool, i: int) -> Pair | None:
    """One side is cut inside a word, after 30% to 80% of its characters, both rounded down."""
    side = pool.side()
    text = pool.sides[side][i].strip()
    cuts = range(max(1, int(0.3 * len(text))), int(0.8 * len(text)) + 1)
    inside = [cut for cut in cuts if text[cut - 1].isalnum() and text[cut : cut + 1].isalnum()]
    return pool.replaced(i, side, text[: inside[pool.below(len(inside))]]) if inside else None


def changed_fact(pool: Pool, i: int) -> Pair | None:
    """One side has another number, else another name, else another word in place of its longest."""
    first = pool.side()
    for change in (_other_number, _other_name, _other_word):
        for side in (first, 1 - first):
            if (text := change(pool, side, pool.sides[side][i])) is not None:
                return pool.replaced(i, side, text)
    return None


def _other_number(pool: Pool, side: int, text: str) -> str | None:
    """The text with another digit in one of its numbers."""
    numbers = [*NUMBER.finditer(text)]
    if not numbers:
        return None
    number = numbers[pool.below(len(numbers))]
    k = number.start() + pool.below(len(number[0]))
    return text[:k] + pool.pick([digit for digit in "123456789" if digit != text[k]]) + text[k + 1 :]


def _other_name(pool: Pool, side: int, text: str) -> str | None:
    """The text with another name of this side in place of one of its names."""
    names = [*NAME.finditer(text)]
    if not names:
        return None
    name = names[pool.below(len(names))]
    new = next((word for _ in range(8) if (word := pool.pick(pool.names[side] or [name[0]])) != name[0]), None)
    return None if new is None else text[: name.start()] + new + text[name.end() :]


def _other_word(pool: Pool, side: int, text: str) -> str | None:
    """The text with the longest word of another row in place of its own; not for languages without spaces."""
    j = pool.other(i=pool.below(len(pool.doc)))
    if j is None or not spaced(pool.languages[side]) or not (old := max(WORD.findall(text), key=len, default="")):
        return None
    new = max(WORD.findall(pool.sides[side][j]), key=len, default=old)
    return None if new == old else text.replace(old, new, 1)


@cache
def sentences() -> dict[str, list[str]]:
    """The sentences of websites by language, from noise.tsv: sentence k says the same in each."""
    text = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8")
    return {code: rest for code, *rest in zip(*(line.split("\t") for line in text.splitlines()), strict=True)}


def boilerplate(pool: Pool, i: int) -> Pair:
    """Menus, cookie banners, copyright lines. Half of the pairs are translations, but useless ones."""
    texts = [sentences()[matching(language, MENU) or "en"] for language in pool.languages]
    menus = [MENU[matching(language, MENU) or "en"].split("|") for language in pool.languages]
    name = pool.pick(pool.names[0] or ["Example"])
    fill = {
        "name": name,
        "year": 1998 + pool.below(28),
        "n": 1 + pool.below(999),
        "m": 2 + pool.below(60),
        "price": 5 + pool.below(995),
    }
    which = [pool.below(len(texts[0]) + 4)] * 2
    items = pool.rng.permutation(len(menus[0]))[: 3 + pool.below(4)]
    separator = pool.pick([" | ", " > ", " · ", " ", " » "])
    if pool.side():
        which[1] = (which[0] + 1 + pool.below(len(texts[0]) - 1)) % len(texts[0])
    src, tgt = (
        text[k].format(**fill) if k < len(text) else separator.join(menu[item] for item in items)
        for text, menu, k in zip(texts, menus, which, strict=True)
    )
    return src, tgt


def garbled(pool: Pool, i: int) -> Pair | None:
    """One side, or both, as wrong decoding leaves it."""
    start, both = pool.below(len(GARBLERS)), pool.below(3) == 0
    for k in range(len(GARBLERS)):
        garble = GARBLERS[(start + k) % len(GARBLERS)]
        new = [garble(pool, text) for text in pool.pair(i)]
        changed = [side for side in (0, 1) if new[side] != pool.sides[side][i] and new[side].strip()]
        if both and len(changed) == 2:
            return new[0], new[1]
        if changed:
            side = changed[pool.below(len(changed))]
            return pool.replaced(i, side, new[side])
    return None


def _mojibake(pool: Pool, text: str) -> str:
    """UTF-8 read as Windows-1252."""
    return text.encode().decode("cp1252", errors="replace")


def _entities(pool: Pool, text: str) -> str:
    """Character references, escaped twice in half of the cases."""
    once = html.escape(text).encode("ascii", "xmlcharrefreplace").decode()
    return html.escape(once) if pool.side() else once


def _replacements(pool: Pool, text: str) -> str:
    """Every character outside ASCII lost."""
    return re.sub(r"[^\x00-\x7f]", pool.pick(["\ufffd", "?", "\ufffd\ufffd"]), text)


def _dropped(pool: Pool, text: str) -> str:
    """A sixth of the characters missing."""
    kept = pool.rng.random(len(text)) >= 1 / 6
    return "".join(char for char, keep in zip(text, kept.tolist(), strict=True) if keep)


def salad(pool: Pool, i: int) -> Pair | None:
    """The target as bad machine output: its words shuffled and mixed with frequent ones, or text of a bigram model."""
    language = pool.languages[1]
    old = words(pool.sides[1][i], language)
    if pool.side():
        new = [old[k] if pool.below(3) else pool.pick(pool.frequent[1]) for k in pool.rng.permutation(len(old))]
    else:
        new, last = [], ""
        while len(new) < len(old):
            last = pool.pick(pool.followers[1].get(last) or pool.followers[1][""])
            new += [last] if last else []
    return pool.replaced(i, 1, join(new, language)) if new != old else None


def duplicate(pool: Pool, i: int) -> Pair:
    """A copy of the pair: exact, or (half of them) a near-duplicate with other ends or case, as on another page."""
    src, tgt = pool.pair(i)
    match pool.below(6):
        case 0:
            return src.upper(), tgt.upper()
        case 1:
            return f"- {src}", f"- {tgt}"
        case 2:
            return f"{src} ...", f"{tgt} ..."
    return src, tgt


KINDS: dict[str, Callable[[Pool, int], Pair | None]] = {
    kind.__name__: kind
    for kind in (
        misaligned,
        neighbour,
        copy,
        wrong_language,
        partial,
        truncated,
        changed_fact,
        boilerplate,
        garbled,
        salad,
        duplicate,
    )
}
GARBLERS: tuple[Callable[[Pool, str], str], ...] = (_mojibake, _entities, _replacements, _dropped)
NUMBER = re.compile(r"[0-9]+")
WORD = re.compile(r"[^\W\d_]{2,}")
# capitalised, not at the start of a sentence
NAME = re.compile(r"(?<=[\w,;:] )(?!\d)[^\W\d_](?<=[A-ZÀ-ÖØ-ÞŒŠŽА-ЯЁ])[^\W\d_]+")
CLAUSE = re.compile(r"[,;:，；：、](?:\s|(?<=[，；：、]))")

MENU = {
    "en": "Home|About us|Contact|Products|News|Log in|Search|Help|Sitemap|Terms of use|Privacy",
    "de": "Startseite|Über uns|Kontakt|Produkte|Aktuelles|Anmelden|Suche|Hilfe|Übersicht|AGB|Datenschutz",
    "fr": "Accueil|À propos|Contact|Produits|Actualités|Connexion|Recherche|Aide|Plan du site|CGU|Vie privée",
    "es": "Inicio|Quiénes somos|Contacto|Productos|Noticias|Entrar|Buscar|Ayuda|Mapa|Condiciones|Privacidad",
    "ru": "Главная|О нас|Контакты|Товары|Новости|Войти|Поиск|Помощь|Карта сайта|Условия|Приватность",
    "zh": "首页|关于我们|联系方式|产品|新闻|登录|搜索|帮助|网站地图|使用条款|隐私",
}
