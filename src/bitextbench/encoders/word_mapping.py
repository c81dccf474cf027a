"""Bilingual word embeddings: skip-gram vectors of two languages, and an orthogonal map from one space to the other.

kim2019 section 3.2: "trained with a skip-gram algorithm, later mapped across the languages with adversarial training
(Conneau et al. 2018) and self-dictionary refinements (Artetxe et al. 2017)". The method and its defaults are those of
Conneau et al. 2018, sections 2 and 3. Where that paper is silent, its published code is followed (marked "code").

1. Start: a discriminator learns to separate mapped source words from target words. W learns to deceive it (their eq. 3
   and 4), and is kept near the orthogonal matrices (eq. 7). Or start from a seed dictionary: given, or of words with
   the same spelling.
2. Refinement, repeated: the pairs of frequent words that are mutual nearest neighbours by CSLS are a dictionary, for
   which Procrustes has a closed solution (eq. 2).
3. Model selection without a dictionary: the mean cosine of the frequent source words and their CSLS translations.

Vectors are float32 [n, d], rows by falling frequency. x are those of the source language, y those of the target
language. x @ W is in the space of y, with W [d, d].
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.base.bootstrap import rate
from bitextbench.base.checkpoints import claim
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing, sha256
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import remove, scratch
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.word_vectors import WordVectors, read, write

BLOCK = 512  # rows of a block of similarities: 400 MB at 200,000 words


@dataclass(frozen=True)
class Settings:
    """The keys of a mapping in the configuration. Defaults: Conneau et al. 2018, sections 3.1 to 3.4, and code."""

    start: str = "adversarial"  # or dictionary, or identical: words with the same spelling
    normalise: str = "unit"  # or none, or centre: unit length, mean 0, unit length
    epochs: int = 5  # this line to `restarts`: of the adversarial start
    updates: int = 31_250  # of the mapping an epoch: a million words (code)
    batch: int = 32
    learning_rate: float = 0.1
    decay: float = 0.95  # of the learning rate, an epoch; it is halved when the criterion gets worse
    discriminator: int = 2048  # each of two hidden layers
    discriminator_updates: int = 5  # for one of the mapping (code)
    dropout: float = 0.1  # of the discriminator's input
    smoothing: float = 0.2
    beta: float = 0.01  # of eq. 7
    frequent: int = 50_000  # words that the discriminator sees
    restarts: int = 1  # adversarial starts; the best by the criterion is taken
    refinements: int = 5
    neighbours: int = 10  # k of CSLS
    dictionary: int = 15_000  # frequent words of which the dictionary is made (code)
    judged: int = 10_000  # frequent source words in the criterion


# ---- vectors


def skip_gram(
    text: Path,
    out: Path,
    *,
    dimension: int = 512,
    epochs: int = 5,
    min_count: int = 5,
    subwords: bool = True,
    checkpoints: Path | None = None,
) -> int:
    """Train skip-gram vectors on tokenised lines and write `out` (.vec), words by falling frequency.

    With `subwords` those of fastText (Bojanowski et al. 2017): a word's vector is the mean of its own and those of its
    n-grams. Without, those of word2vec (Mikolov et al. 2013). Other parameters are the defaults of the two programs.
    gensim trains both, in one thread, as the order of updates is part of the result. On one machine each run gives the
    same bytes. With `checkpoints`, a folder, a run that was killed goes on from its last epoch. Returns the number of words.
    Raises InputError where no word is frequent enough, and for checkpoints of another run.
    """
    from gensim.models.fasttext import FastText
    from gensim.models.word2vec import LineSentence, Word2Vec

    lines = LineSentence(str(existing(text)))
    counts = Counter(word for line in lines for word in line)
    frequent = {word: n for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n >= min_count}
    if not frequent:
        raise InputError(f"no word appears {min_count:,} times", text, remedy="give it more text, or a lower min_count")
    program, defaults = (FastText, {"alpha": 0.05, "sample": 1e-4}) if subwords else (Word2Vec, {})
    model = program(vector_size=dimension, sg=1, min_count=min_count, workers=1, sorted_vocab=0, **defaults)
    model.build_vocab_from_freq(frequent)
    first, alpha, low = 0, model.alpha, model.min_alpha
    if checkpoints:
        sizes = {"dimension": dimension, "epochs": epochs, "min_count": min_count, "subwords": subwords}
        claim(checkpoints, sizes | {"text": sha256(text)}, "encoders.word_mapping")
        if (done := checkpoints / "epochs.json").exists():
            first = read_json(done)["epochs"]
            model = program.load(str(checkpoints / f"{first}.model"))
            log(f"skip-gram: going on after epoch {first:,} of {epochs:,}")
    rates = [alpha - (alpha - low) * epoch / epochs for epoch in range(epochs + 1)]  # falls as in one call
    for epoch in range(first, epochs):
        model.train(lines, total_words=counts.total(), epochs=1, start_alpha=rates[epoch], end_alpha=rates[epoch + 1])
        if checkpoints:
            _keep(model, checkpoints, epoch + 1)
    write(WordVectors(list(frequent), model.wv.vectors), out)
    if checkpoints:
        remove(checkpoints)
    return len(frequent)


def _keep(model: Any, checkpoints: Path, epochs: int) -> None:
    """Write a checkpoint, then remove the one before."""
    model.save(str(checkpoints / f"{epochs}.model"))
    write_json(checkpoints / "epochs.json", {"epochs": epochs})
    for path in checkpoints.glob(f"{epochs - 1}.model*"):
        path.unlink()


def learn_vectors(
    shards: Sequence[Path],
    side: str,
    out: Path,
    spec: dict[str, Any],
    *,
    pieces: Path | None = None,
    lowercase: bool = True,
    checkpoints: Path | None = None,
) -> int:
    """`skip_gram` of the words of token shards, corpus by corpus, or of their BPE `pieces`; `spec`: its keywords.

    Raises InputError for no text of this side, and as `skip_gram` does.
    """
    corpora = itertools.groupby(shards, lambda path: path.parent)
    tables = (table for _, corpus in corpora for table in bitext.batches_by_id(corpus, [side]))
    lines = (line for table in tables for line in table[side].to_pylist() if line)
    lines = (line.lower() if lowercase else line for line in lines)
    if pieces:
        from bitextbench.text.bpe import load_bpe

        bpe = load_bpe(pieces)
        lines = (" ".join(bpe.encode(line, out_type=str)) for line in lines)
    with scratch() as folder:
        text = folder / "text"
        with open(text, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        return skip_gram(text, out, **spec, checkpoints=checkpoints)


def map_files(
    src: Path,
    tgt: Path,
    spec: dict[str, Any],
    out: Path,
    report: Path,
    *,
    seed: int = 1,
    dictionary: Sequence[Path] = (),
    test: Sequence[Path] = (),
    lowercase: bool = True,
) -> dict[str, Any]:
    """Learn the map; write `out`/mapped.src.vec and mapped.tgt.vec, and `report`, which is returned:

    {"words": {side: n}, "criterion": after the start and each refinement, "induction": see `induction`, None without
    `test`}. Dictionaries are files, see `entries`. Raises InputError as `learn` and `induction` do.
    """
    checked, sides = Settings(**spec), (read(src), read(tgt))
    weight, values = learn(*sides, checked, seed, entries(dictionary, lowercase))
    accuracy = induction(*sides, weight, entries(test, lowercase), checked) if test else None
    for side, words in zip(("src", "tgt"), mapped(*sides, weight, checked), strict=True):
        write(words, out / f"mapped.{side}.vec")
    sizes = {side: len(words.words) for side, words in zip(("src", "tgt"), sides, strict=True)}
    result = {"words": sizes, "criterion": values, "induction": accuracy}
    write_json(report, result)
    return result


def normalised(x: torch.Tensor, how: str) -> torch.Tensor:
    """Rows of unit length (`unit`), centred rows of unit length (`centre`), or unchanged (`none`)."""
    if how == "none":
        return x
    unit = torch.nn.functional.normalize(x, dim=1)
    return unit if how == "unit" else torch.nn.functional.normalize(unit - unit.mean(0), dim=1)


def space(words: WordVectors, spec: Settings) -> torch.Tensor:
    """The vectors of a language as the map is learnt from them, float32 [n, d]."""
    return normalised(torch.from_numpy(words.vectors), spec.normalise)


# ---- the map


def learn(
    source: WordVectors,
    target: WordVectors,
    spec: Settings,
    seed: int = 1,
    dictionary: Iterable[tuple[str, str]] | None = None,
) -> tuple[torch.Tensor, list[float]]:
    """W float32 [d, d], orthogonal, the best by the criterion; and the criterion after the start and each refinement.

    `dictionary` is for `start: dictionary`. Raises InputError for vectors of different sizes, and no known word pairs.
    """
    if source.vectors.shape[1] != target.vectors.shape[1]:
        sizes = f"{source.vectors.shape[1]} and {target.vectors.shape[1]} dimensions"
        raise InputError(sizes, "word mapping", remedy="make the two equal")
    x, y = (space(words, spec) for words in (source, target))
    if spec.start == "adversarial":
        starts = (adversarial(x, y, spec, seed + number) for number in range(spec.restarts))
        weight = max(starts, key=lambda start: criterion(x @ start, y, spec))
    else:
        pairs = identical(source, target) if spec.start == "identical" else dictionary or ()
        weight = procrustes(*(side[rows] for side, rows in zip((x, y), indices(pairs, source, target), strict=True)))
    return refine(x, y, weight, spec)


def refine(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, spec: Settings) -> tuple[torch.Tensor, list[float]]:
    """Dictionary and Procrustes in turn, from a first W. Returns the best W by the criterion, and all criteria."""
    tried, values = [weight], [criterion(x @ weight, y, spec)]
    for number in range(1, spec.refinements + 1):
        rows, columns = mutual(x[: spec.dictionary] @ weight, y[: spec.dictionary], spec.neighbours)
        if not len(rows):
            break
        weight = procrustes(x[rows], y[columns])
        tried.append(weight)
        values.append(criterion(x @ weight, y, spec))
        log(f"refinement {number}: {len(rows):,} word pairs, criterion {values[-1]:.4f}")
    return tried[int(np.argmax(values))], values


def procrustes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The orthogonal W [d, d] with the least |x @ W - y|: eq. 2. Row i of `x` and `y` [n, d] is a pair.

    Raises InputError for no pairs.
    """
    if not len(x):
        raise _no_entry()
    u, _, vh = torch.linalg.svd((x.T @ y).double())
    return (u @ vh).to(x.dtype)


def adversarial(x: torch.Tensor, y: torch.Tensor, spec: Settings, seed: int) -> torch.Tensor:
    """W by the adversarial training of eq. 3 and 4, from the identity; the best of all epochs by the criterion."""
    torch.manual_seed(seed)
    d, nn = x.shape[1], torch.nn
    discriminator = nn.Sequential(
        nn.Dropout(spec.dropout),
        nn.Linear(d, spec.discriminator),
        nn.LeakyReLU(0.2),
        nn.Linear(spec.discriminator, spec.discriminator),
        nn.LeakyReLU(0.2),
        nn.Linear(spec.discriminator, 1),
    ).to(x.device)
    weight = torch.eye(d, device=x.device, requires_grad=True)
    optimizers = [torch.optim.SGD(p, spec.learning_rate) for p in (discriminator.parameters(), [weight])]
    is_source = torch.tensor([1.0 - spec.smoothing, spec.smoothing], device=x.device).repeat_interleave(spec.batch)

    def loss(truth: torch.Tensor) -> torch.Tensor:
        drawn = [side[torch.randint(min(spec.frequent, len(side)), (spec.batch,))] for side in (x, y)]
        logits = discriminator(torch.cat([drawn[0] @ weight, drawn[1]]))[:, 0]
        return nn.functional.binary_cross_entropy_with_logits(logits, truth)

    best, value, rate = weight.detach().clone(), -np.inf, spec.learning_rate
    for epoch in range(1, spec.epochs + 1):
        for _ in range(spec.updates):
            for _ in range(spec.discriminator_updates):
                update(optimizers[0], loss(is_source), rate)
            update(optimizers[1], loss(1 - is_source), rate)
            with torch.no_grad():
                weight.copy_((1 + spec.beta) * weight - spec.beta * weight @ weight.T @ weight)
        now = criterion(x @ weight.detach(), y, spec)
        log(f"adversarial epoch {epoch}: criterion {now:.4f}, rate {rate:.4g}")
        rate *= spec.decay if now >= value else spec.decay / 2
        if now > value:
            best, value = weight.detach().clone(), now
    u, _, vh = torch.linalg.svd(best)  # the nearest orthogonal matrix
    return u @ vh


def update(optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float) -> None:
    """One step of an optimizer, with the learning rate `rate`."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# ---- nearest words


def translations(x: torch.Tensor, y: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row of x the row of y with the highest CSLS: ids int64 [n], and that CSLS [n].

    CSLS(a, b) = 2 cos(a, b) - r(a) - r(b), where r is the mean cosine with the k nearest rows of the other side
    (Conneau et al. 2018, section 2.3). k > n means k = n. Ties are broken arbitrarily. Memory: BLOCK similarities a
    row.
    """
    x, y = (torch.nn.functional.normalize(side, dim=1) for side in (x, y))
    density = local_density(y, x, k)  # of the rows of y
    blocks = [(2 * block @ y.T - local_density(block, y, k)[:, None] - density).max(1) for block in x.split(BLOCK)]
    return torch.cat([best.indices for best in blocks]), torch.cat([best.values for best in blocks])


def local_density(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    """The mean product of each row of x with its k nearest rows of y: [n]."""
    return torch.cat([(block @ y.T).topk(min(k, len(y)), 1).values.mean(1) for block in x.split(BLOCK)])


def mutual(x: torch.Tensor, y: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of x and of y that are mutual nearest neighbours by CSLS: two int64 [m]."""
    forward, backward = translations(x, y, k)[0], translations(y, x, k)[0]
    rows = torch.nonzero(backward[forward] == torch.arange(len(x), device=x.device))[:, 0]
    return rows, forward[rows]


def criterion(x: torch.Tensor, y: torch.Tensor, spec: Settings) -> float:
    """The mean cosine of the frequent rows of x, which is mapped, and their CSLS translations in y: section 3.4.

    As in the code, translations are searched among the frequent words of the criterion only.
    """
    x, y = (torch.nn.functional.normalize(side[: spec.judged], dim=1) for side in (x, y))
    return float((x * y[translations(x, y, spec.neighbours)[0]]).sum(1).mean())


# ---- dictionaries


def read_dictionary(path: Path) -> Iterator[tuple[str, str]]:
    """The entries of a dictionary in MUSE's format: `word translation`, with a space or tab. Raises InputError."""
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) != 2 or not all(fields):
            raise InputError(
                "the line does not have two fields",
                path,
                line=number,
                remedy="write a word and its translation",
            )
        yield fields[0], fields[1]


def entries(paths: Iterable[Path], lowercase: bool) -> Iterator[tuple[str, str]]:
    """The word pairs of dictionaries in MUSE's format, or of token shards (.parquet): their pairs of single words."""
    for path in paths:
        if path.suffix == ".parquet":
            table = bitext.read_shard(path, ["src", "tgt"])
            pairs = zip(table["src"].to_pylist(), table["tgt"].to_pylist(), strict=True)
            words = ((a, b) for a, b in pairs if " " not in a + b)
            yield from ((a.lower(), b.lower()) for a, b in words) if lowercase else words
        else:
            yield from read_dictionary(path)


def identical(source: WordVectors, target: WordVectors) -> list[tuple[str, str]]:
    """The words that occur in both languages: numerals and names, the seed dictionary of Artetxe et al. 2017."""
    both = set(target.words)
    return [(word, word) for word in source.words if word in both]


def indices(pairs: Iterable[tuple[str, str]], source: WordVectors, target: WordVectors) -> tuple[list[int], list[int]]:
    """The rows of the word pairs whose words both have a vector: as a word, or as a BPE piece that is a whole word."""
    x, y = (
        {word: row for row, word in enumerate(words.words)}
        | {word[1:]: row for row, word in enumerate(words.words) if word.startswith("▁")}
        for words in (source, target)
    )
    rows = [(x[a], y[b]) for a, b in pairs if a in x and b in y]
    return [a for a, _ in rows], [b for _, b in rows]


def _no_entry() -> InputError:
    what = "no entry of the dictionary has vectors on both sides"
    return InputError(what, "word mapping", remedy="give a dictionary of words that both sides have")


def induction(
    source: WordVectors, target: WordVectors, weight: torch.Tensor, pairs: Iterable[tuple[str, str]], spec: Settings
) -> dict[str, Any]:
    """P@1 of lexicon induction by CSLS, among all target words, in percent with its interval, and {"words", "known"}.

    A word is right when its nearest target word is one of its translations. `words` counts the source words of the
    dictionary; `known` those that have a vector, and a translation with a vector: P@1 is over these. Raises InputError
    if there are none.
    """
    pairs = list(pairs)
    gold: dict[int, set[int]] = {}
    for a, b in zip(*indices(pairs, source, target), strict=True):
        gold.setdefault(a, set()).add(b)
    if not gold:
        raise _no_entry()
    x, y = (space(words, spec) for words in (source, target))
    nearest, _ = translations(x @ weight, y, spec.neighbours)
    right = [int(nearest[word]) in meanings for word, meanings in gold.items()]
    return {**rate("P@1 of lexicon induction", right), "words": len({a for a, _ in pairs}), "known": len(gold)}


def mapped(
    source: WordVectors, target: WordVectors, weight: torch.Tensor, spec: Settings
) -> tuple[WordVectors, WordVectors]:
    """The vectors of both languages in one space, for `Encoder.initialise`."""
    x, y = (space(words, spec) for words in (source, target))
    return source._replace(vectors=(x @ weight).numpy()), target._replace(vectors=y.numpy())
