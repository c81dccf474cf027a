"""Bag-of-words translation and fluency: Zipporah (Xu and Koehn 2017), "a fast and scalable data cleaning system".

It is done as in the authors' program (hainan-xv/zipporah). We had no text of the paper but its abstract.

- Adequacy: how badly the words of one side predict those of the other through a dictionary, both directions added. One
  direction is the sum over t of v(t) ln(q(t) + 0.0001). There v(w) is the share of w among the words of its side, and
  q(t) = sum over s of v(s) p(t | s). A word that is not in the dictionary translates to itself.
- Fluency: the sum of ln perplexity of both sides under n-gram language models.
- A logistic regression reads (x / 10)^8 of both. It separates good pairs from pairs with a wrong side, with shuffled
  words, and with both.

Where the paper is silent:

- The dictionary is that of IBM Model 1, without what is below 0.01. The program counts links of fast_align, of all
  occurrences of a word.
- The language models have trigrams, one discount an order and all words in lower case; words outside of the vocabulary
  are one unknown word. The program has 5-grams, three discounts, no trigram or longer one that occurs once, and case;
  its 30,000th word stands for all rarer ones.
- The program has log10 of perplexity, and its regression reads the features as they are. Here it is ln, and features
  are scaled to a deviation of 1 before the fit. Weights make up for both, but for what little the penalty does.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench.base import murmur
from bitextbench.base.arrays import Layout, load_npz, save_npz
from bitextbench.base.errors import InputError
from bitextbench.base.lookup import Lookup
from bitextbench.base.progress import log
from bitextbench.corpus.byte_lines import Lines
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged
from bitextbench.scoring import Pairs, Text, checked, dictionary, ngram_lm
from bitextbench.scoring.dictionary import Dictionary
from bitextbench.scoring.ngram_lm import ORDER, NgramModel
from bitextbench.text import ngrams

NEEDS = ("tokens",)
FIT = "tokens"
OPTIONS = {"vocabulary": {"type": "integer", "minimum": 1, "maximum": 2097148}}
LOGITS = True
AGAIN = "fit it again"
FLOOR = 1e-4
POWER, SCALE = 8, 10.0
PENALTY = 1e5  # C of scikit-learn: next to no regularisation
VOCABULARY = 200_000
BLOCK = bitext.BLOCK  # pairs at a time: the same blocks, whose sums run through them, for any number of shards


class HashedWords:
    """Ids of lower-cased words, of both languages together. Words are compared by 64 bits of a hash."""

    def __init__(self, words: list[str]) -> None:
        self.size = len(words)
        self.known = Lookup(_hashes(pa.array(words, pa.string())))

    def ids(self, text: Text) -> tuple[Ragged, Ragged]:
        """The words of both sides. Those outside the vocabulary have ids from `size` on, the same for the same word of
        this text.
        """
        sides = [ngrams.columns(side) for side in text]
        hashes = np.concatenate([_hashes(ngrams.lowered(types)) for *_, types in sides])
        numbers = self.known(hashes)
        others = np.unique(hashes[numbers < 0], return_inverse=True)[1]
        numbers[numbers < 0] = self.size + others
        cut = len(sides[0][2])
        src, tgt = (
            Ragged(some.astype(np.int32)[tokens], starts)
            for some, (tokens, starts, _) in zip((numbers[:cut], numbers[cut:]), sides, strict=True)
        )
        return src, tgt


def _hashes(words: pa.Array) -> NDArray[np.uint64]:
    lines = Lines(words, "")
    return murmur.digests(lines.words, lines.bounds)[:, 0]


def adequacy(src: Ragged, tgt: Ragged, translations: Dictionary) -> NDArray[np.float64]:
    """The cross-entropy [n] of the target's bag of words, translated word by word from the source's; see above.

    0 for an empty target.
    """
    q = translations.sums(src, tgt) / np.repeat(np.maximum(src.lengths, 1), tgt.lengths)
    losses = np.concatenate([[0.0], np.cumsum(-np.log(q + FLOOR))])
    return np.diff(losses[tgt.offsets]) / np.maximum(tgt.lengths, 1)


class Zipporah:
    """All that scores: words, both dictionaries, both language models, and the weights of the regression."""

    def __init__(
        self,
        words: list[str],
        dictionaries: tuple[Dictionary, Dictionary],
        fluencies: tuple[NgramModel, NgramModel],
        weights: NDArray[np.float64],
    ) -> None:
        self.words, self.dictionaries = HashedWords(words), dictionaries
        self.fluencies, self.weights = fluencies, weights

    def features(self, src: Ragged, tgt: Ragged) -> NDArray[np.float64]:
        """Adequacy and fluency [n, 2], mapped; the greater, the worse."""
        there, back = self.dictionaries
        translation = adequacy(src, tgt, there) + adequacy(tgt, src, back)
        fluency = np.log(2) * sum(model.bits(side) for model, side in zip(self.fluencies, (src, tgt), strict=True))
        return (np.stack([translation, fluency], axis=1) / SCALE) ** POWER

    def scores(self, text: Text) -> NDArray[np.float64]:
        """The logit [n] of each pair of lines."""
        out = np.empty(len(text.src))
        for start in range(0, len(out), BLOCK):
            block = slice(start, start + BLOCK)
            features = self.features(*self.words.ids(Text(*(side.slice(start, BLOCK) for side in text))))
            out[block] = (features * self.weights[:-1]).sum(axis=1) + self.weights[-1]
        return out


def fit(parallel: Text, positives: Text, spec: dict[str, Any], seed: int, out: Path) -> None:
    """Learn dictionaries and language models from `parallel`, weights from `positives` and what is made bad of them.

    spec: `vocabulary`, the most words (200,000). Raises InputError for too few pairs.
    """
    if len(parallel.src) < 2 or len(positives.src) < 2:
        what = f"{len(parallel.src):,} pairs of bitext and {len(positives.src):,} good pairs are too few"
        raise InputError(what, remedy="give Zipporah at least two of each")
    words = [*ngrams.counted(parallel, lowercase=True)][: spec.get("vocabulary", VOCABULARY)]
    src, tgt = HashedWords(words).ids(parallel)
    dictionaries = tuple(
        dictionary.learn(*(_within(side, len(words)) for side in pair)) for pair in ((src, tgt), (tgt, src))
    )
    fluencies = tuple(ngram_lm.learn(side, len(words)) for side in (src, tgt))
    model = Zipporah(words, dictionaries, fluencies, np.zeros(3))  # type: ignore[arg-type]
    good, bad = _examples(model, positives, seed)
    model.weights = _regression(good, bad)
    log(f"zipporah: {len(words):,} words, {len(dictionaries[0].keys):,} and {len(dictionaries[1].keys):,} translations")
    arrays: dict[str, NDArray] = {"weights": model.weights, "words": np.frombuffer("\n".join(words).encode(), np.uint8)}
    for side, translations, fluency in zip(("src", "tgt"), dictionaries, fluencies, strict=True):
        arrays |= {f"{side}_keys": translations.keys, f"{side}_values": translations.values}
        arrays |= {f"{side}_lm_{name}": array for name, array in fluency.arrays().items()}
    save_npz(out, **arrays)


LAYOUT: Layout = {
    "weights": ("f8", "3"),
    "words": ("u1", "characters"),
    **{f"{side}_keys": ("u8", f"{side}_entries") for side in SIDES},
    **{f"{side}_values": ("f4", f"{side}_entries") for side in SIDES},
    **{f"{side}_lm_{name}": layout for side in SIDES for name, layout in ngram_lm.layout(side).items()},
}


def read(path: Path) -> Zipporah:
    """What `fit` wrote. Raises InputError for another or a damaged file."""
    arrays = load_npz(path, AGAIN, LAYOUT)
    try:
        text = arrays["words"].tobytes().decode()
    except UnicodeDecodeError:
        raise InputError("its words are not UTF-8", path, remedy=AGAIN) from None
    words = text.split("\n") if text else []
    for side in SIDES:
        if any((arrays[f"{side}_lm_keys{n}"][1:] <= arrays[f"{side}_lm_keys{n}"][:-1]).any() for n in range(ORDER)):
            raise InputError("its n-grams are not in order", path, remedy=AGAIN)
        dictionary.check(arrays[f"{side}_keys"], len(words), path)
        if arrays[f"{side}_lm_size"] != len(words):
            raise InputError(f"its language model was not learned with its {len(words):,} words", path, remedy=AGAIN)
    dictionaries = tuple(Dictionary(arrays[f"{side}_keys"], arrays[f"{side}_values"]) for side in SIDES)
    fluencies = tuple(
        ngram_lm.load(
            {key.removeprefix(f"{side}_lm_"): array for key, array in arrays.items() if key.startswith(f"{side}_lm_")}
        )
        for side in SIDES
    )
    return Zipporah(words, dictionaries, fluencies, arrays["weights"])  # type: ignore[arg-type]


def score(pairs: Pairs, model: Path | None) -> NDArray[np.float32]:
    """The logit of the regression [n]."""
    if model is None:
        raise InputError("Zipporah needs a trained model", remedy="fit it first")
    return checked(read(model).scores(pairs.text()), "zipporah")


def _within(sentences: Ragged, size: int) -> Ragged:
    """Without the words outside the vocabulary."""
    keep = sentences.flat < size
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])
    return Ragged(sentences.flat[keep], before[sentences.offsets])


def _examples(model: Zipporah, positives: Text, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features of good pairs, and of three bad ones made of each: a wrong target, words in random order, and both."""
    rng = np.random.default_rng(seed)
    src, tgt = model.words.ids(positives)
    order = rng.permutation(len(src))
    wrong = np.empty_like(order)
    wrong[order] = np.roll(order, 1)  # no sentence keeps its own
    mixed = [_mixed(side, rng) for side in (src, tgt)]
    bad = [(src, tgt.take(wrong)), (mixed[0], mixed[1]), (mixed[0], mixed[1].take(wrong))]
    return model.features(src, tgt), np.concatenate([model.features(*pair) for pair in bad])


def _mixed(sentences: Ragged, rng: np.random.Generator) -> Ragged:
    """The tokens of each sentence in random order."""
    row = np.repeat(np.arange(len(sentences)), sentences.lengths)
    return Ragged(sentences.flat[np.lexsort((rng.random(len(row)), row))], sentences.offsets)


def _regression(good: NDArray[np.float64], bad: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the two features, and the constant."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    features, labels = np.concatenate([good, bad]), np.repeat([1, 0], [len(good), len(bad)])
    scaler = StandardScaler().fit(features)
    with threadpool_limits(1):  # sums of BLAS depend on the number of threads
        model = LogisticRegression(C=PENALTY).fit(scaler.transform(features), labels)
    weights = model.coef_[0] / scaler.scale_
    return np.append(weights, model.intercept_[0] - weights @ scaler.mean_)
