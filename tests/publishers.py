"""The publishers of the paper-scale data sets, in miniature: their archives in their true layout, with generated text.

    python tests/publishers.py --port 8765 --lines 300                    # build, print the address, serve until killed
    python tests/publishers.py --folder DIR --lines 300                   # write the same as a mirror folder
    python tests/publishers.py --folder DIR --port 8765                   # serve that folder (written first if it is not there)
    python tests/publishers.py --port 8765 --fault '503:*europarl*:2' --fault 'truncate:*.gz'

Name either as the mirror: `BITEXTBENCH_MIRROR=http://127.0.0.1:8765` or `BITEXTBENCH_MIRROR=DIR`. URLs stay those of
the registry. The mirror's `changed.json` has the sums of what it serves, so that `bitextbench fetch` takes it, with a
warning for each file, as `changed`; give such a run a `data` folder of its own. The same lines give the same bytes.

`--lines N` is the size of a common text; LINES says which have more or fewer. Sizes that a configuration has to know:
BERT (hidden, layers, ... below: BERT), which is randomly initialised.

A fault is KIND[:PATTERN[:TIMES]]: the first TIMES (1) requests for each file whose `host/path` matches PATTERN (*) meet
it. Kinds: FAULTS. Each is told on stderr. `fault("503:*gz:2")` parses one; `Server(files, faults)` serves in a test.
"""

import argparse
import bz2
import contextlib
import fnmatch
import gzip
import hashlib
import io
import itertools
import json
import random
import re
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.config import overlays
from bitextbench.config.resolution import resolve
from bitextbench.corpus.language_model import train
from bitextbench.data import registry, synth

Pair = tuple[str, ...]  # a line of each side
Row = tuple[str | None, str | None, str, str]  # what a parser is to give: source, target, document, label

CONFIG = Path(__file__).parents[1] / "config.yaml"
LINES = {"pool": 4.0, "paracrawl-v4": 2.0, "newstest": 0.5, "iwslt": 0.5, "other": 0.05}  # times --lines; others 1
BERT = {"hidden": 32, "layers": 2, "heads": 2, "filters": 64, "positions": 512}  # as under `model` of encoders.bert.*
LANGUAGES = ("en", "de", "fr", "es", "ru", "zh")
LEAKED = 9  # lines of newstest2018 in Common Crawl
REDIRECTED = ("huggingface.co/*.safetensors", "www.statmt.org/*")  # as these hosts do


@cache
def data_sets() -> list[str]:
    """The data sets that config.yaml uses, by its resolved configuration."""
    return sorted({*_named(resolve(overlays.read([CONFIG])))})


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, held in value.items():
            if isinstance(held, str) and (key == "dataset" or (key == "language" and held == "fasttext-lid176")):
                yield held
            yield from _named(held)
    elif isinstance(value, list):
        for held in value:
            yield from _named(held)


# ---- text, and what is wrong with it


def text(stretch: str, languages: Sequence[str], n: float) -> list[Pair]:
    """The first n generated lines of a stretch."""
    stream = synth.sentences(f"publisher {stretch}", languages, 1)
    return [pair for _, pair in itertools.islice(stream, max(1, round(n)))]


def _inside(mark: str) -> Callable[[str], str]:
    """A mark behind the first word."""
    return lambda line: line.replace(" ", f"{mark} ", 1) if " " in line else f"{line[:1]}{mark}{line[1:]}"


FLAWS: dict[str, Callable[[Pair], Iterable[str]]] = {  # a line of each side -> the same with a flaw
    "empty source": lambda pair: ("", *pair[1:]),
    "empty target": lambda pair: (pair[0], *("" for _ in pair[1:])),
    "empty": lambda pair: ("" for _ in pair),
    "blank target": lambda pair: (pair[0], *(" \u3000" for _ in pair[1:])),
    "copy": lambda pair: (pair[0] for _ in pair),
    "other": lambda pair: (pair[0], *("Home | Contact | © 2012 » http://www.example.com/?q=1&hl=en" for _ in pair[1:])),
    "long": lambda pair: (" ".join([line] * 50) for line in pair),
    "mojibake": lambda pair: (line.encode().decode("latin-1").replace("\x85", "") for line in pair),
    "spaces": lambda pair: (f"  {line} " for line in pair),
    "carriage return at the end": lambda pair: (f"{line} \r" for line in pair),
    "quote": lambda pair: (f'"{line}' for line in pair),
    **{
        name: lambda pair, mark=mark: map(_inside(mark), pair)
        for name, mark in {
            "next line": "\x85",
            "line separator": "\u2028",
            "no-break space": "\xa0",
            "soft hyphen": "\xad",
            "carriage return": "\r",
            "two spaces": " ",
            "zero-width space": "\u200b",
            "control (C1)": "\x93",
            "replacement": "\ufffd",
            "tab": "\t",
            "control": "\x01",
            "entity": " &amp; &quot;&#39;",
            "ampersand": " R&D <3",
        }.items()
    },
}  # fmt: skip


def flawed(pairs: Sequence[Pair], names: str) -> tuple[list[Pair], Counter[str]]:
    """The pairs, every tenth of them with a flaw, of each kind in turn; how many of each."""
    found, counts, kinds = list(pairs), Counter[str](), names.split(", ")
    for number, place in enumerate(range(5, len(found), 10)):
        kind = kinds[number % len(kinds)]
        found[place] = tuple(FLAWS[kind](found[place]))
        counts[kind] += 1
    return found, counts


# ---- what a publisher gives


@dataclass
class Edition:
    """Files by their URL; what a parser is to give of each data set, its languages in the order of the registry; its
    flaws.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    flaws: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, name: str, packed: bytes, pairs: Iterable[Pair], flaws: Counter[str]) -> None:
        """A data set of one file."""
        self.files[url(name)] = packed
        self.rows[name] = [
            (pair[0].removesuffix("\r"), pair[1] and pair[1].removesuffix("\r"), "", "") for pair in pairs
        ]
        self.flaws[name] = flaws


def url(name: str, place: int = 0) -> str:
    return registry.entry(name).files[place].url


def lines(column: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in column).encode()


def sides(pairs: Sequence[Pair], names: Iterable[str]) -> dict[str, bytes]:
    """A member for each side of the pairs."""
    return {name: lines(pair[place] for pair in pairs) for place, name in enumerate(names)}


def tar(members: Mapping[str, bytes], pack: Callable[[bytes], bytes] | None = None) -> bytes:
    """A packed tar, as GNU tar writes it; a name that ends in "/" is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name.rstrip("/"))
            info.size, info.mode, info.type = len(data), 0o644, tarfile.REGTYPE
            if name.endswith("/"):
                info.mode, info.type = 0o755, tarfile.DIRTYPE
            archive.addfile(info, io.BytesIO(data))
    return (pack or gz)(out.getvalue())


def gz(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def tsv(rows: Iterable[Sequence[str]]) -> bytes:
    return lines("\t".join(row) for row in rows)


# ---- WMT's training text

CLOSED = {  # a formula of each sitting, translated in more than one way
    "en": ("The debate is closed.",),
    "de": ("Die Aussprache ist geschlossen.", "Damit ist die Aussprache geschlossen."),
    "fr": ("Le débat est clos.", "La discussion est close."),
    "es": ("El debate queda cerrado.", "Se cierra el debate."),
}


def europarl(n: int) -> Edition:
    """One archive of four bitexts with English. Of some sentences there is no translation into one language or another."""
    both = ("de", "fr", "es")
    whole = text("europarl", ("en", *both), n)
    for place in range(3, n, 25):
        whole[place] = tuple(CLOSED[code][place // 25 % len(CLOSED[code])] for code in ("en", *both))
    members = {"training/": b""}
    members |= sides(
        text("europarl cs", ("en", "en"), 0.05 * n), [f"training/europarl-v7.cs-en.{code}" for code in ("cs", "en")]
    )
    edition, bitexts = Edition(), {}
    for place, code in enumerate(both, 1):
        pairs = [(pair[place], pair[0]) for number, pair in enumerate(whole) if number % 9 != 3 * place - 3]
        kinds = "empty source, no-break space, empty target, soft hyphen, spaces, empty, next line, line separator"
        bitexts[code], flaws = flawed(pairs, kinds)
        members |= sides(bitexts[code], [f"training/europarl-v7.{code}-en.{side}" for side in (code, "en")])
        edition.rows[f"europarl-v7.{code}-en"] = [(*pair, "", "") for pair in bitexts[code]]
        edition.flaws[f"europarl-v7.{code}-en"] = flaws
    for src, tgt in (("de", "fr"), ("de", "es"), ("fr", "es")):
        first: dict[str, dict[str, str]] = {src: {}, tgt: {}}
        for code in first:
            for line, english in bitexts[code]:
                if line.strip() and english.strip():
                    first[code].setdefault(english, line)
        edition.rows[f"europarl-v7.{src}-{tgt}"] = [
            (line, first[tgt][english], "", "") for english, line in first[src].items() if english in first[tgt]
        ]
    edition.files[url("europarl-v7.de-en")] = tar(members)
    return edition


def bitexts(n: int) -> Edition:
    """Archives of line-aligned text, of several languages or one."""
    edition, tests = Edition(), text("newstest2018 de-en", ("de", "en"), LEAKED)
    for name, stem, others, extra, kinds in (
        (
            "commoncrawl-wmt13.de-en",
            "commoncrawl.{}-en.",
            ("cs", "es", "fr", "ru"),
            ("annotation",),
            "carriage return, next line, entity, mojibake, line separator, control, copy, other, tab",
        ),
        (
            "news-commentary-v13.de-en",
            "training-parallel-nc-v13/news-commentary-v13.{}-en.",
            ("cs", "ru", "zh"),
            (),
            "empty, no-break space, carriage return at the end, empty target, carriage return",
        ),
        ("rapid2016.de-en", "rapid2016.{}-en.", ("et", "fi"), (), "no-break space, spaces, empty source, blank target"),
        (
            "paracrawl-v1-filtered.de-en",
            "paracrawl-release1.en-de.zipporah0-dedup-clean.",
            (),
            (),
            "entity, quote, other, copy, line separator",
        ),
        (
            "paracrawl-v1-filtered.ru-en",
            "paracrawl-release1.en-ru.zipporah0-dedup-clean.",
            (),
            (),
            "entity, quote, other",
        ),
    ):
        code = name[-5:-3]
        members = {stem[: stem.rindex("/") + 1]: b""} if "/" in stem else {}
        for other in others:
            spoken = other if other in LANGUAGES else "en"
            held = text(f"{name} {other}", (spoken, "en"), LINES["other"] * n)
            members |= {stem.format(other) + end: lines("" for _ in held) for end in extra}
            members |= sides(held, [stem.format(other) + end for end in (other, "en")])
        pairs = text(name, (code, "en"), n)
        if name.startswith("commoncrawl"):  # a crawl holds test sets
            pairs[10 : 10 + len(tests)] = tests
        pairs, flaws = flawed(pairs, kinds)
        members |= {stem.format(code) + end: lines(f"http://example.com/{row}" for row in range(n)) for end in extra}
        members |= sides(pairs, [stem.format(code) + end for end in (code, "en")])
        edition.add(name, tar(members), pairs, flaws)
    return edition


def news_crawl(n: int) -> Edition:
    """Shuffled sentences of a year, each once."""
    edition = Edition()
    for name in data_sets():
        if name.startswith("news-crawl"):
            code = name[-2:]
            held = list(dict.fromkeys(text(name, (code,), n)))
            random.Random(name).shuffle(held)
            found, flaws = flawed(held, "next line, no-break space, quote, line separator, entity")
            edition.add(name, gz(lines(line for (line,) in found)), ((line, None) for (line,) in found), flaws)
    return edition


# ---- crawls


def crawls(n: int) -> Edition:
    """Tab-separated text in gzip; that of release 4 in more than one gzip member."""
    edition = Edition()
    for name, times in (("en-de", 2.0), ("en-fr", 2.0), ("en-es", 2.0), ("en-zh", 1.0)):
        whole = f"paracrawl-v4.{name}" if times > 1 else f"paracrawl-bonus-v1.{name}"
        kinds = "no-break space, entity, quote, line separator, other, next line, copy, control"
        pairs, flaws = flawed(text(whole, name.split("-"), times * n), kinds)
        middle = len(pairs) // 2
        edition.add(whole, gz(tsv(pairs[:middle])) + gz(tsv(pairs[middle:])), pairs, flaws)
    return edition


def pool(n: int) -> Edition:
    """A raw crawl: English, German, and Hunalign's score; a third of it is wrong, and there are copies."""
    good = text("pool", ("en", "de"), LINES["pool"] * n)
    rng = random.Random("pool")
    pairs = [(en, good[rng.randrange(len(good))][1]) if rng.random() < 0.25 else (en, de) for en, de in good]
    pairs = [pairs[rng.randrange(row)] if row and rng.random() < 0.05 else pair for row, pair in enumerate(pairs)]
    kinds = "copy, other, long, entity, mojibake, empty target, quote, next line, control, empty source"
    pairs, flaws = flawed(pairs, kinds)
    edition = Edition()
    scored = [(*pair, f"{rng.gauss(0.4, 0.5):.6g}") for pair in pairs]
    edition.add("wmt18-pcf-pool.de-en", gz(tsv(scored)), ((de, en) for en, de in pairs), flaws)
    return edition


HUMAN = {
    "V": "parallel",
    "F": "parallel",
    "E": "error",
    "MT": "machine",
    "A": "misaligned",
    "L": "wrong_language",
    "T": "tokenisation",
}
HUMAN_SHARES = (0.52, 0.07, 0.06, 0.16, 0.15, 0.02, 0.02)


def human_evaluations(n: int) -> Edition:
    """Pairs that people judged: addresses, text, scores, label, comment. The second judgements of v6 are of the same
    pairs.
    """
    edition = Edition()
    for version in ("v3", "v6", "v6-2", "v7"):
        name, rng = f"paracrawl-human-eval-{version}.de-en", random.Random(version)
        kinds = "entity, two spaces, spaces, replacement, next line, quote"
        pairs, flaws = flawed(text(f"human {version[:2]}", ("en", "de"), n), kinds)
        found, rows = [], []
        for number, (en, de) in enumerate(pairs):
            label = random.Random(f"{version[:2]} {number}").choices([*HUMAN], HUMAN_SHARES)[0]
            if version == "v6-2" and rng.random() < 0.4:
                label = rng.choice([*HUMAN])
            addresses = (f"http://www.example.com/en/{number}.html?a=1&b=2", f"example.com/de/{number}–ä.html")
            score, comment = 0.5 + number / len(pairs) / 2, rng.choice(("", "", "", "F_keep: discard", 'says "so"'))
            if version == "v3":
                found.append(
                    (*addresses, en, de, f"{rng.random():.6f}", f"{rng.gauss(0, 9):.12f}", f"{score!r}", label, comment)
                )
            else:
                found.append((*addresses, en, de, f"{score:.3f}", label, comment, str(rng.randrange(1, 60))))
            rows.append((de, en, "", HUMAN[label]))
        edition.add(name, tsv(found), (), flaws)
        edition.rows[name] = rows
    return edition


# ---- test sets


def news_tests(n: int) -> Edition:
    """A file a language; those of 2008 to 2013 are parallel in all languages, and shared by pairs."""
    edition = Edition()
    for name in data_sets():
        if name.startswith("newstest"):
            year, pair = name[8:12], name.split(".")[1].split("-")
            codes = ("de", "en", "es", "fr") if year < "2014" else tuple(pair)
            kinds = (
                "next line"
                if year == "2009"
                else "no-break space, control (C1), zero-width space, two spaces, soft hyphen"
            )
            stretch = f"newstest{year}" if year < "2014" else name.replace(".", " ")
            held, edition.flaws[name] = flawed(text(stretch, codes, LINES["newstest"] * n), kinds)
            columns = {code: [line[place] for line in held] for place, code in enumerate(codes)}
            for file in registry.entry(name).files:
                edition.files[file.url] = lines(columns[file.url.rsplit(".", 1)[1]])
            edition.rows[name] = [(*line, "", "") for line in zip(*(columns[code] for code in pair), strict=True)]
    return edition


def iwslt(n: int) -> Edition:
    """TED talks in a kind of XML: text is not escaped. Each language is in the archive in which it is the source."""
    pairs, flaws = flawed(text("iwslt", ("de", "en"), LINES["iwslt"] * n), "ampersand, spaces, no-break space")
    edition = Edition(flaws={"iwslt-tst2015.de-en": flaws})
    names = {"de": "german", "en": "english"}
    for place, (src, tgt) in enumerate((("de", "en"), ("en", "de"))):
        folder, side = f"{src}-{tgt}", [pair[place] for pair in pairs]
        stem = f"{folder}/IWSLT17.TED.tst{{}}.{folder}.{src}.xml"
        members = {f"{folder}/": b"", f"{folder}/README": b"see https://wit3.fbk.eu\n"}
        members[f"{folder}/train.tags.{folder}.{src}"] = lines(["<url>http://www.ted.com/talks/1</url>", *side[:9]])
        members |= {
            stem.format(year): lines(_talks(side[:end], names[src], year)) for year, end in ((2014, 30), (2015, None))
        }
        edition.files[url("iwslt-tst2015.de-en", place)] = tar(members)
    edition.rows["iwslt-tst2015.de-en"] = [
        (*(line.strip() for line in pair), str(1900 + row // 20), "") for row, pair in enumerate(pairs)
    ]
    return edition


def _talks(side: Sequence[str], language: str, year: int) -> Iterator[str]:
    yield from (
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<mteval>",
        f'<srcset setid="iwslt2017-tst{year}" srclang="{language}">',
    )
    for number, start in enumerate(range(0, len(side), 20), 1900):
        yield f'<doc docid="{number}" genre="lectures">'
        yield f"<url>http://www.ted.com/talks/{number}</url>"
        yield "<keywords>talks, R&D, science</keywords>"
        yield f"<talkid>{number}</talkid>"
        yield "<description>TED Talk Subtitles and Transcript: a talk</description>"
        yield from (f'<seg id="{place}"> {line} </seg>' for place, line in enumerate(side[start : start + 20], 1))
        yield "</doc>"
    yield from ("</srcset>", "</mteval>")


def bucc(n: int) -> Edition:
    """Sentences with ids, and the ids of a fifth of them that are translations, every second one left in English as on
    the web (an encoder of few updates finds those); one of these shares its sentence with another.
    """
    edition = Edition()
    for code in ("de", "fr", "ru", "zh"):
        name, pair = f"bucc2018.{code}-en", f"{code}-en"
        n_gold, rng = max(2, n // 5), random.Random(code)
        pairs = text(name, (code, "en"), n_gold)
        gold = [pair if row % 2 else (pair[1], pair[1]) for row, pair in enumerate(pairs)]
        texts, ids = {}, {}
        for place, side in enumerate((code, "en")):
            others = text(f"{name} {side}", (side,), n - n_gold - 20 * place)
            held = [(line, None) for (line,) in others] + [(line[place], row) for row, line in enumerate(gold)]
            rng.shuffle(held)
            texts[side] = [(f"{side}-{number:09}", line) for number, (line, _) in enumerate(held, 1)]
            ids[side] = {row: texts[side][where][0] for where, (_, row) in enumerate(held) if row is not None}
        links = sorted((ids[code][row], ids["en"][row]) for row in range(n_gold))
        shared = sorted([*links, (links[0][0], links[1][1])])
        members = {f"bucc2018/{pair}/{pair}.training.{side}": tsv(texts[side]) for side in (code, "en")}
        members[f"bucc2018/{pair}/{pair}.training.gold"] = tsv(shared)
        edition.files[url(name)] = tar(members, bz2.compress)
        taken: list[tuple[str, str]] = []
        for src, tgt in shared:
            if all(src != a and tgt != b for a, b in taken):
                taken.append((src, tgt))
        sentences = {side: dict(texts[side]) for side in texts}
        edition.rows[name] = [(sentences[code][a], sentences["en"][b], "", "parallel") for a, b in taken]
        for place, side in enumerate((code, "en")):
            alone = [line for key, line in texts[side] if key not in {link[place] for link in taken}]
            edition.rows[name] += [(line, None, "", "") if place == 0 else (None, line, "", "") for line in alone]
        edition.flaws[name] = Counter({"pairs that share a sentence": len(shared) - len(taken)})
    return edition


# ---- the United Nations


def un(n: int) -> Edition:
    """The text in six languages, a tar.gz in four volumes, with the document of each line."""
    codes = ("en", "es", "fr", "ru", "zh")
    held, flaws = flawed(text("un", codes, n), "no-break space, spaces, quote, line separator")
    docs = [f"{1990 + row // 10 % 25}/a/conf/{row // 10}" for row in range(len(held))]
    members = {"6way/": b"", "6way/UNv1.0.6way.ar": lines("نص" for _ in held)}
    members |= sides(held, [f"6way/UNv1.0.6way.{code}" for code in codes])
    members["6way/UNv1.0.6way.ids"] = lines(  # a line may be of two sentences of a language
        f"{doc} {' '.join(f'{code}:{row % 10 + 1}:1' for code in ('ar', *codes, *codes[: row % 2]))}"
        for row, doc in enumerate(docs)
    )
    packed = tar(members)
    size = -(-len(packed) // 4)
    edition = Edition(flaws={"un-v1-6way": flaws})
    for place in range(4):
        edition.files[url("un-v1-6way", place)] = packed[place * size : (place + 1) * size]
    edition.rows["un-v1-6way"] = [(line[0], line[1], doc, "") for line, doc in zip(held, docs, strict=True)]
    return edition


def unpc(n: int) -> Edition:
    """OPUS's packages in Moses' format: a zip with both texts, a licence, and the alignment."""
    edition = Edition()
    for code in ("fr", "ru", "zh"):
        pairs, flaws = flawed(
            text(f"unpc {code}", ("en", code), n), "no-break space, spaces, tab, entity, empty target"
        )
        members = {"README": b"Corpus Name: UNPC\n", "LICENSE": b"see the README\n"}
        members |= sides(pairs, [f"UNPC.en-{code}.{side}" for side in ("en", code)])
        members[f"UNPC.en-{code}.xml"] = (
            b'<?xml version="1.0" encoding="utf-8"?>\n<cesAlign version="1.0">\n</cesAlign>\n'
        )
        edition.add(f"unpc.en-{code}", zipped(members), pairs, flaws)
    return edition


# ---- models


def bert(n: int) -> Edition:
    """A randomly initialised BERT, its tensors named as in Google's release: gamma and beta."""
    from safetensors.numpy import save

    words = Counter(
        word for pair in text("bert", LANGUAGES, 300) for line in pair for word in re.findall(r"\w+|[^\w\s]", line)
    )
    letters = sorted({letter for word in words for letter in word})
    pieces = [
        "[PAD]",
        *(f"[unused{number}]" for number in range(1, 100)),
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
    ]
    pieces += [f"##{letter}" for letter in letters]
    pieces += [
        word for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:500] if word not in letters
    ]
    settings = {
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "directionality": "bidi", "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": BERT["hidden"], "initializer_range": 0.02, "intermediate_size": BERT["filters"],
        "layer_norm_eps": 1e-12, "max_position_embeddings": BERT["positions"], "model_type": "bert",
        "num_attention_heads": BERT["heads"], "num_hidden_layers": BERT["layers"], "pad_token_id": 0, "pooler_fc_size": 768,
        "type_vocab_size": 2, "vocab_size": len(pieces),
    }  # fmt: skip
    weights = save(_tensors(len(pieces)), {"format": "pt"})
    files = (json.dumps(settings, indent=2).encode(), lines(pieces), weights)
    name = "bert-base-multilingual-cased"
    return Edition({url(name, place): data for place, data in enumerate(files)}, {name: []}, {name: Counter()})


def _tensors(vocab: int) -> dict[str, np.ndarray]:
    """The tensors of BertForPreTraining, as BERT's release has them."""
    hidden, filters, rng = BERT["hidden"], BERT["filters"], np.random.default_rng(1)
    found: dict[str, np.ndarray] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        found[f"{name}.weight"] = (0.02 * rng.standard_normal((rows, columns))).astype(np.float32)
        found[f"{name}.bias"] = np.zeros(rows, np.float32)

    def norm(name: str) -> None:
        found[f"{name}.LayerNorm.gamma"], found[f"{name}.LayerNorm.beta"] = (
            np.ones(hidden, np.float32),
            np.zeros(hidden, np.float32),
        )

    for name, rows in (("word", vocab), ("position", BERT["positions"]), ("token_type", 2)):
        linear(f"bert.embeddings.{name}_embeddings", rows, hidden)
        del found[f"bert.embeddings.{name}_embeddings.bias"]
    norm("bert.embeddings")
    for layer in range(BERT["layers"]):
        stem = f"bert.encoder.layer.{layer}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{stem}.attention.{name}", hidden, hidden)
        norm(f"{stem}.attention.output")
        linear(f"{stem}.intermediate.dense", filters, hidden)
        linear(f"{stem}.output.dense", hidden, filters)
        norm(f"{stem}.output")
    linear("bert.pooler.dense", hidden, hidden)
    linear("cls.predictions.transform.dense", hidden, hidden)
    norm("cls.predictions.transform")
    found["cls.predictions.bias"] = np.zeros(vocab, np.float32)
    linear("cls.seq_relationship", 2, hidden)
    return found


def language_model(n: int) -> Edition:
    """A fastText model with the n-grams of lid.176.bin. fastText writes it; its weights are those of naive Bayes, since
    fastText's own differ from run to run."""
    columns = dict(zip(LANGUAGES, zip(*text("languages", LANGUAGES, 300), strict=True), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        path.write_text(
            "".join(f"__label__{code} {line}\n" for code in columns for line in columns[code]), encoding="utf-8"
        )
        sizes = {"dim": len(LANGUAGES), "epoch": 1, "minn": 2, "maxn": 4, "bucket": 1 << 15, "lr": 0.01}
        model = train(path, **sizes)
        counts = np.full(model.get_input_matrix().shape, 0.1)
        parts = cache(lambda word: model.get_subwords(word)[1])
        for place, code in enumerate(LANGUAGES):
            for word in (word for line in columns[code] for word in line.split()):
                np.add.at(counts[:, place], parts(word), 1)
        given = np.log(counts / counts.sum(0))
        labels = [label.removeprefix("__label__") for label in model.get_labels()]
        outputs = 20 * np.eye(len(LANGUAGES))[[LANGUAGES.index(label) for label in labels]]
        model.set_matrices((given - given.mean(1, keepdims=True)).astype(np.float32), outputs.astype(np.float32))
        model.save_model(str(path))
        name = "fasttext-lid176"
        return Edition({url(name): path.read_bytes()}, {name: []}, {name: Counter()})


PUBLISHERS = (
    europarl, bitexts, news_crawl, crawls, pool, human_evaluations, news_tests, iwslt, bucc, un, unpc, bert, language_model,
)  # fmt: skip


@cache
def published(n: int) -> Edition:
    """All of them. A text has about n lines."""
    whole = Edition()
    for edition in (publisher(n) for publisher in PUBLISHERS):
        for held, more in ((whole.files, edition.files), (whole.rows, edition.rows), (whole.flaws, edition.flaws)):
            held.update(more)
    return whole


# ---- as a mirror


def mirror(n: int) -> dict[str, bytes]:
    """All files by their place in a mirror, host/path, with changed.json."""
    files = published(n).files
    sums = {
        url: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for url, data in sorted(files.items())
    }
    changed = {"why": f"generated text of about {n} lines in the publishers' layouts", "files": sums}
    return {url.split("://")[1]: data for url, data in files.items()} | {
        "changed.json": json.dumps(changed, indent=1).encode()
    }


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a mirror folder; changed.json comes last."""
    for place, data in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- the server

FAULTS = {
    "truncate": "half of the bytes, then the connection breaks",
    "corrupt": "a byte in the middle is another",
    "stall": "half of the bytes, then nothing more (--stall seconds), then the connection breaks",
    "503": "503 Service Unavailable",
    "429": "429 Too Many Requests",
    "404": "404 Not Found",
    "redirect": "302 to another address of this server",
    "nolength": "no Content-Length; the connection ends with the file",
    "chunked": "in chunks, with no Content-Length",
    "norange": "the whole file, whatever Range asks for",
    "page": "200 with an HTML page in place of the file",
}


@dataclass(frozen=True)
class Fault:
    kind: str
    pattern: str = "*"
    times: int = 1


def fault(spec: str) -> Fault:
    """KIND[:PATTERN[:TIMES]]"""
    kind, pattern, times = (*spec.split(":"), *("", "")[spec.count(":") :])[:3]
    if kind not in FAULTS or spec.count(":") > 2:
        raise argparse.ArgumentTypeError(f"{spec!r}: KIND[:PATTERN[:TIMES]], with a kind of {', '.join(FAULTS)}")
    return Fault(kind, pattern or "*", int(times or 1))


class Server(ThreadingHTTPServer):
    """Serves `files` (by host/path) at 127.0.0.1, as `with Server(files) as server`; `met` notes the faults, `requests`
    all else.
    """

    daemon_threads = True

    def __init__(
        self,
        files: Mapping[str, bytes],
        faults: Sequence[Fault] = (),
        address: tuple[str, int] = ("127.0.0.1", 0),
        stall: float = 3600,
    ) -> None:
        super().__init__(address, Handler)
        self.files, self.faults, self.stall = files, list(faults), stall
        self.met: list[tuple[str, str]] = []
        self.requests: list[tuple[str, str | None]] = []
        self.guard = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://{self.server_address[0]}:{self.server_port}"

    def __enter__(self) -> "Server":
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()
        self.server_close()

    def next_fault(self, place: str) -> str | None:
        """The fault that this request meets."""
        with self.guard:
            for fault in self.faults:
                if fnmatch.fnmatchcase(place, fault.pattern) and self.met.count((place, fault.kind)) < fault.times:
                    self.met.append((place, fault.kind))
                    print(f"fault {fault.kind} {place}", file=sys.stderr, flush=True)
                    return fault.kind
        return None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        place, wanted = self.path.lstrip("/"), self.headers.get("Range")
        self.server.requests.append((place, wanted))
        direct = place.removeprefix("elsewhere/")
        data = self.server.files.get(direct)
        moved = place == direct and any(fnmatch.fnmatchcase(place, like) for like in REDIRECTED)
        kind = None if data is None or moved or direct == "changed.json" else self.server.next_fault(direct)
        if data is None or (kind or "").isdigit():
            self.send_error(int(kind or 404))
        elif moved or (place == direct and kind == "redirect"):
            self.reply(302, b"", Location=f"/elsewhere/{place}")
        elif kind == "page":
            self.reply(200, b"<html>Please sign in.</html>", **{"Content-Type": "text/html"})
        else:
            self.serve(data, None if kind == "norange" else wanted, kind)

    def serve(self, data: bytes, wanted: str | None, kind: str | None) -> None:
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(data) > 0:
            self.reply(416, b"", **{"Content-Range": f"bytes */{len(data)}"})
            return
        body, half = data[start:], (len(data) - start) // 2
        if kind == "corrupt":
            body = body[:half] + bytes([body[half] ^ 1]) + body[half + 1 :]
        headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        if kind == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif kind != "nolength":
            headers["Content-Length"] = str(len(body))
        self.send_response(206 if start else 200)
        for name, value in {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if kind == "chunked":
            body = (
                b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part)
                + b"0\r\n\r\n"
            )
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[:half] if kind in ("truncate", "stall") else body)
            self.wfile.flush()
            if kind == "stall":
                time.sleep(self.server.stall)

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, help="serve; 0: a free port")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="write a mirror folder, or serve what is in it")
    parser.add_argument("--fault", type=fault, action="append", default=[], help="KIND[:PATTERN[:TIMES]]")
    parser.add_argument("--stall", type=float, default=3600, help="seconds that a stalled reply takes")
    given = parser.parse_args()
    if given.port is None and given.folder is None:
        parser.error("give --port, --folder, or both")
    there = given.folder and given.port is not None and (given.folder / "changed.json").exists()
    files = read(given.folder) if there else mirror(given.lines)
    if given.folder and not there:
        write(given.folder, files)
    if given.port is not None:
        server = Server(files, given.fault, (given.host, given.port), given.stall)
        print(f"{len(files) - 1} files at {server.address}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
