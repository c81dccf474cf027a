"""One corpus in one, two and three shards: what learns from it, and what measures it, gives the same bytes."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from generated import plain_model

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.data import synth
from bitextbench.encoders import hard_negatives, word_mapping
from bitextbench.encoders.batches import SentenceIds, batches_of_one_length
from bitextbench.evaluation import posteriors, quality, selections
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.formats.scores import load_scores, scores_by_id
from bitextbench.nmt import ids
from bitextbench.report import examples
from bitextbench.scoring.score import fit_similarity, fit_text_similarity, score_shard
from bitextbench.scoring.similarities import confidence, mlp, zipporah
from bitextbench.text import bpe as text
from bitextbench.text import ngrams
from bitextbench.text.tokens import tokenize_shard

ROWS, BLOCK, DIMENSION = 330, 50, 8
SHARDS = (1, 2, 3)


class Stored(NamedTuple):
    """A corpus, and what the workflow makes of its shards: files by kind, a list for each."""

    folder: Path
    tokens: Path
    shards: list[Path]
    stems: list[Path]  # of vectors and ids
    scores: list[Path]

    def sides(self) -> list[tuple[Path, Path]]:
        return [(Path(f"{stem}.src.npy"), Path(f"{stem}.tgt.npy")) for stem in self.stems]


def store(folder: Path, shards: int) -> Stored:
    """Pairs of which every second is right; scores have many ties."""
    rng = np.random.default_rng(1)
    pairs = [pair for _, pair in islice(synth.sentences("bitext", ("de", "en"), 1), ROWS)]
    labels = ["parallel" if i % 2 else "copy" for i in range(ROWS)]
    columns = {"src": [src for src, _ in pairs], "tgt": [tgt for _, tgt in pairs], "doc": [""] * ROWS, "label": labels}
    src = rng.standard_normal((ROWS, DIMENSION)).astype(np.float32)
    tgt = np.where(np.arange(ROWS)[:, None] % 2, src, rng.standard_normal(src.shape)).astype(np.float32)
    tied = rng.integers(0, 9, ROWS).astype(np.float32)
    bitext.write_shards(folder / "corpus", [pa.table(columns)], shards)
    (folder / "tokens").mkdir()
    paths = bitext.shard_paths(folder / "corpus")
    features = ngrams.Bigrams(200, 100, True)
    stems = [folder / path.stem for path in paths]
    for path, stem in zip(paths, stems, strict=True):
        rows = bitext.read_shard(path, ["id"])["id"].to_numpy()
        tokenize_shard(path, ("de", "en"), folder / "tokens" / path.name)
        table = bitext.read_shard(folder / "tokens" / path.name, ["id", "src", "tgt"])
        for side, vectors in (("src", src), ("tgt", tgt)):
            np.save(f"{stem}.{side}.npy", vectors[rows])
            features.ids(table[side]).save(f"{stem}.{side}")
        np.save(f"{stem}.scores.npy", tied[rows])
    return Stored(folder / "corpus", folder / "tokens", paths, stems, [Path(f"{stem}.scores.npy") for stem in stems])


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> Iterator[list[Stored]]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (bitext, ids, mlp, confidence, zipporah):
            patch.setattr(module, "BLOCK", BLOCK)
        yield [store(tmp_path_factory.mktemp(str(shards)), shards) for shards in SHARDS]


def all_the_same(corpora: list[Stored], made: Callable[[Stored], object]) -> object:
    first, *others = map(made, corpora)
    assert all(other == first for other in others)
    return first


def scored(corpus: Stored, name: str, model: Path, **what: list[Path]) -> bytes:
    """The scores of a corpus, in the order of ids."""
    paths = [corpus.folder.parent / f"{stem.name}.{name}.npy" for stem in corpus.stems]
    for i, (shard, out) in enumerate(zip(corpus.shards, paths, strict=True)):
        score_shard(shard, name, out, model=model, **{kind: files[i] for kind, files in what.items()})
    return scores_by_id(paths).tobytes()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_scores_by_id(corpora):
    tied = load_scores(corpora[0].scores)[0]
    for corpus in corpora:
        np.testing.assert_array_equal(scores_by_id(corpus.scores), tied)


@pytest.mark.parametrize("portion", [0.6, 1.0, "random"])
def test_a_similarity_that_learns_from_vectors(corpora, portion):
    spec = {"hidden": [16], "max_iter": 5, "negatives": {"portion": portion}}

    def made(corpus: Stored) -> tuple[bytes, bytes]:
        out = corpus.folder.parent / "mlp.npz"
        good = corpus.sides()
        fit_similarity("mlp", spec, good, good, corpus.scores, 1, out)
        src, tgt = zip(*good, strict=True)
        return out.read_bytes(), scored(corpus, "mlp", out, src=src, tgt=tgt)

    all_the_same(corpora, made)


def test_as_many_negatives_as_configured(corpora, tmp_path, capsys):
    good, size = corpora[0].sides(), len(scores_by_id(corpora[0].scores))

    def fit(**negatives: object) -> None:
        spec = {"hidden": [4], "max_iter": 1, "negatives": {"portion": 1.0, **negatives}}
        fit_similarity("mlp", spec, good, good, corpora[0].scores, 1, tmp_path / "mlp.npz")

    fit(count=7)
    assert f"{size:,} positives; 7 negatives from portion 1.0 of {size:,} pairs" in capsys.readouterr().err
    with pytest.raises(
        InputError, match=r"100,000 negatives are asked for, but the pool has .* pairs; .*negatives\.count"
    ):
        fit(count=100_000)


def test_a_similarity_that_learns_from_words(corpora):
    def made(corpus: Stored) -> tuple[bytes, bytes]:
        out, tokens = corpus.folder.parent / "zipporah.npz", bitext.shard_paths(corpus.tokens)
        fit_text_similarity("zipporah", {"vocabulary": 500}, tokens, tokens, 1, out)
        return out.read_bytes(), scored(corpus, "zipporah", out, tokens=tokens)

    all_the_same(corpora, made)


def test_a_confidence_that_other_scores_tune(corpora, tmp_path, monkeypatch):
    monkeypatch.setattr(confidence, "UPDATES", 20)
    model = plain_model(tmp_path / "m.pt", DIMENSION)

    def made(corpus: Stored) -> tuple[bytes, bytes, bytes]:
        src, tgt = zip(*corpus.sides(), strict=True)
        named = {"--src-emb": src, "--tgt-emb": tgt, "--scores": corpus.scores, "--model": [model]}
        options = ["--best=0.2", *(f"{name}={path}" for name, paths in named.items() for path in paths)]
        out, agreement = corpus.folder.parent / "tuned.npz", corpus.folder.parent / "agreement.json"
        for command in (
            ["step", "tune-confidence", "confidence", f"--out={out}"],
            ["step", "measure-agreement", f"--tuned={out}", f"--out={agreement}"],
        ):
            done = CliRunner().invoke(cli, [*command, *options], catch_exceptions=False)
            assert done.exit_code == 0, done.output
        return out.read_bytes(), agreement.read_bytes(), scored(corpus, "confidence", out, src=src, tgt=tgt)

    all_the_same(corpora, made)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "random"])
def test_hard_negatives_and_the_pairs_that_they_name(corpora, similarity):
    def made(corpus: Stored) -> tuple[list[bytes], str]:
        out = corpus.folder.parent / "hard"
        hard_negatives.mine(corpus.stems, corpus.stems, out, share=0.5, similarity=similarity)
        found = [ragged for side in ("src", "tgt") for ragged in [Ragged.load(f"{out}.{side}")]]
        shown = "".join(examples.negatives(corpus.folder, out))
        return [array.tobytes() for ragged in found for array in (ragged.flat, ragged.offsets)], shown

    all_the_same(corpora, made)


def test_sentences_to_train_on(corpora):
    def made(corpus: Stored) -> list[bytes]:
        src, tgt = (SentenceIds.load([f"{stem}.{side}" for stem in corpus.stems]) for side in ("src", "tgt"))
        both = src + tgt
        assert len(both) == 2 * ROWS
        assert both[ROWS + 7].tolist() == tgt[7].tolist() == tgt.head(8)[7].tolist()
        rows = np.arange(2 * ROWS)[::-1]
        padded = both.padded(rows)
        of_one_length = np.concatenate([*batches_of_one_length(both.lengths, 100, 9)])
        return [padded.ids.numpy().tobytes(), both.lengths.tobytes(), of_one_length.tobytes()]

    all_the_same(corpora, made)


def test_data_of_translation_and_language_models(corpora):
    def made(corpus: Stored) -> dict[str, bytes]:
        out = corpus.folder.parent / "data"
        ids.prepare({"bitext": corpus.stems, "mono": corpus.stems, "valid": corpus.stems}, 400, 30, out)
        sides = [posteriors.by_id([Ragged.load(f"{stem}.{side}") for stem in corpus.stems]) for side in ("src", "tgt")]
        return files(out) | {str(i): side.flat.tobytes() + side.offsets.tobytes() for i, side in enumerate(sides)}

    all_the_same(corpora, made)


def test_what_pieces_and_word_vectors_are_learned_from(corpora, monkeypatch):
    monkeypatch.setattr(
        word_mapping, "skip_gram", lambda lines, out, dim=1, checkpoints=None: out.write_bytes(lines.read_bytes())
    )

    def made(corpus: Stored) -> list[object]:
        out, bpe = corpus.folder.parent / "lines", corpus.folder.parent / "bpe"
        word_mapping.learn_vectors(bitext.shard_paths(corpus.tokens), "tgt", out, {})
        text.learn_bpe([corpus.tokens], 300, 100, 1, bpe)
        lines = bitext.read_side(corpus.tokens, "src")
        return [out.read_bytes(), bpe.read_bytes(), [*text._sample(corpus.tokens, 100)], lines]

    *_, sample, lines = all_the_same(corpora, made)
    assert lines[::4] == [line for line in sample if line in set(lines)]


def test_measures_of_scores_with_ties(corpora):
    def made(corpus: Stored) -> list[object]:
        scores = dict.fromkeys("ab", scores_by_id(corpus.scores))
        return [
            quality.evaluate(corpus.folder, corpus.scores),
            selections.precision(corpus.folder, corpus.scores, 500, "tgt"),
            [*examples.corners(corpus.folder, scores)],
        ]

    all_the_same(corpora, made)
