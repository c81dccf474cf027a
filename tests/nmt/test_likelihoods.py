"""The four models with the real fairseq, on a toy language: data, training, log-probabilities; and what combines them."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_nmt import LINES

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.evaluation import posteriors
from bitextbench.formats.ids import Ragged
from bitextbench.formats.likelihoods import MODELS, Likelihoods
from bitextbench.nmt import fairseq_shim, ids, likelihood_models
from bitextbench.scoring import Pairs
from bitextbench.scoring.score import score_shard
from bitextbench.scoring.similarities import dual_cross_entropy, nmt_lm
from bitextbench.text.bpe import learn_sentencepiece

SCHEDULE = {
    "dropout": 0.1, "learning_rate": 0.01, "warmup_updates": 10, "clip": 1.0, "max_tokens": 400, "update_freq": 1,
    "max_updates": 100, "validate_every": 50, "patience": 0,
}  # fmt: skip
SIZES = {"layers": 1, "embed_dim": 16, "ffn_dim": 32, "heads": 2}
TRANSLATION = SCHEDULE | SIZES | {"normalise": "before", "label_smoothing": 0.1}
LANGUAGE = SCHEDULE | {"layers": 1, "embed_dim": 16, "hidden_dim": 32}
SPECS = {"forward": TRANSLATION, "backward": TRANSLATION, "src": LANGUAGE, "tgt": LANGUAGE}
VOCAB, LONGEST = 120, 30

TRAIN_PROGRAM = """
import json, sys
from pathlib import Path
from bitextbench.nmt.likelihood_models import train
folder, spec = Path(sys.argv[1]), json.loads(sys.argv[2])
train("tgt", folder / "data", spec, 30, 1, folder / "tgt.pt", folder / "checkpoints")
"""


def write_ids(stem: Path, sources: list[str], targets: list[str], bpe: sentencepiece.SentencePieceProcessor) -> Path:
    for side, lines in (("src", sources), ("tgt", targets)):
        Ragged.of(bpe.encode(lines)).save(f"{stem}.{side}")
    return stem


@pytest.fixture(scope="module")
def bpe():
    return sentencepiece.SentencePieceProcessor(
        model_proto=learn_sentencepiece(iter([*LINES["de"], *LINES["en"]]), VOCAB, 1)
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory, bpe):
    """A folder with ids, data/ and the four models."""
    folder = tmp_path_factory.mktemp("likelihoods")
    known = [i for i in range(48) if i % 5]
    german, english = ([LINES[language][i] for i in known] * 5 for language in ("de", "en"))
    corpora = {
        "bitext": [write_ids(folder / "bitext", german, english, bpe)],
        "mono": [write_ids(folder / "mono", [*LINES["de"], "der Hund " * 30], [""] * 49, bpe)],
        "valid": [write_ids(folder / "valid", LINES["de"][::5], LINES["en"][::5], bpe)],
    }
    ids.prepare(corpora, bpe.get_piece_size(), LONGEST, folder / "data")
    for name in MODELS:
        train(name, folder, folder / f"{name}.pt", folder / "checkpoints" / name)
    return folder


def train(name: str, folder: Path, out: Path, checkpoints: Path) -> None:
    likelihood_models.train(name, folder / "data", SPECS[name], LONGEST, 1, out, checkpoints)


def models(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.pt" for name in MODELS}


@pytest.fixture(scope="module")
def scored(trained, tmp_path_factory):
    return likelihood_models.score(trained / "valid", models(trained), tmp_path_factory.mktemp("scored") / "valid.npz")


def test_data_are_what_fairseq_itself_writes(trained, tmp_path):
    from fairseq.data import Dictionary, indexed_dataset

    counts = json.loads((trained / "data" / "counts.json").read_text())
    assert counts["translation"]["train"] == {"lines": 190, "kept": 190, "empty": 0, "too long": 0}
    assert counts["src"]["train"] == {"lines": 239, "kept": 238, "empty": 0, "too long": 1}
    assert counts["tgt"]["train"] == {"lines": 239, "kept": 190, "empty": 49, "too long": 0}
    dictionary = Dictionary.load(str(trained / "data/src/dict.txt"))
    assert dictionary.index("17") == 17
    assert [dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()] == ids.MARKS[[2, 0, 3, 1]].tolist()
    builder = indexed_dataset.make_builder(str(tmp_path / "own.bin"), "mmap", vocab_size=len(dictionary))
    for sentence in Ragged.load(trained / "valid.src"):
        builder.add_item(torch.tensor([*sentence, dictionary.eos()]))
    builder.finalize(str(tmp_path / "own.idx"))
    for ending in ("bin", "idx"):
        assert (tmp_path / f"own.{ending}").read_bytes() == (trained / f"data/src/valid.{ending}").read_bytes()


def test_alignment_by_posteriors_scores_all_pairs(trained, tmp_path, bpe):
    german, english = LINES["de"][:12], ["", *LINES["en"][1:12]]
    stems = [write_ids(tmp_path / str(at), german[at : at + 6], english[at : at + 6], bpe) for at in (0, 6)]
    both = {name: trained / f"{name}.pt" for name in posteriors.MODELS}
    forward, backward = posteriors.align(stems, both, batch_tokens=300)
    pairs = [(f, e) for f in german for e in english]
    write_ids(tmp_path / "all", *map(list, zip(*pairs, strict=True)), bpe)
    found = likelihood_models.score(tmp_path / "all", models(trained), tmp_path / "all.npz")
    scores = found.per_token(posteriors.MODELS).mean(axis=0).reshape(12, 12)
    assert forward.tolist() == scores.argmax(axis=1).tolist()
    assert backward[1:].tolist() == scores.argmax(axis=0)[1:].tolist()
    assert backward[0] == -1
    assert 0 not in forward  # the empty sentence is nobody's
    assert (forward[1:] == np.arange(1, 12)).mean() > 0.5
    with pytest.raises(InputError, match="no model backward"):
        posteriors.align(stems, {"forward": both["forward"]})


@pytest.mark.parametrize(("name", "source", "target"), [("forward", "src", "tgt"), ("backward", "tgt", "src")])
def test_translation_agrees_with_fairseq_generate(trained, scored, capsys, name, source, target):
    fairseq_shim.run(
        "generate",
        [
            str(trained / "data/translation"),
            "--path",
            str(trained / f"{name}.pt"),
            "--gen-subset",
            "valid",
            "--cpu",
            "--source-lang",
            source,
            "--target-lang",
            target,
            "--score-reference",
            "--no-progress-bar",
            "--max-tokens",
            "200",
        ],
    )
    found = re.findall(r"^H-(\d+)\t(\S+)\t(.*)$", capsys.readouterr().out, flags=re.M)
    tokens = getattr(scored, f"{target}_tokens")
    assert [len(line.split()) + 1 for _, _, line in sorted(found, key=lambda item: int(item[0]))] == tokens.tolist()
    expected = {int(number): float(score) * math.log(2) for number, score, _ in found}  # a mean, in bits
    own = getattr(scored, name) / tokens
    np.testing.assert_allclose(own, [expected[i] for i in range(len(tokens))], atol=2e-4)
    assert own.std() > 0.01


@pytest.mark.parametrize("name", ["src", "tgt"])
def test_language_models_agree_with_fairseq_eval_lm(trained, scored, caplog, name):
    caplog.set_level("INFO")
    fairseq_shim.run(
        "eval_lm",
        [
            str(trained / "data" / name),
            "--path",
            str(trained / f"{name}.pt"),
            "--gen-subset",
            "valid",
            "--cpu",
            "--sample-break-mode",
            "eos",
            "--output-word-probs",
            "--max-tokens",
            "200",
        ],
    )
    expected = {}
    for record in caplog.records:
        if line := re.match(r"(\d+) (.*\[.*\])$", record.getMessage()):
            expected[int(line[1])] = sum(map(float, re.findall(r"\[(\S+)\]", line[2])))
    own = getattr(scored, name)
    np.testing.assert_allclose(own, [expected[i] for i in range(len(own))], atol=1e-3)
    assert own.std() > 0.1


def test_translations_are_likelier_than_other_pairs(trained, scored, tmp_path, bpe):
    write_ids(tmp_path / "shuffled", LINES["de"][::5], LINES["en"][15::5] + LINES["en"][:15:5], bpe)
    shuffled = likelihood_models.score(tmp_path / "shuffled", models(trained), tmp_path / "shuffled.npz")
    for module in (nmt_lm, dual_cross_entropy):
        good, bad = (module.score(Pairs(np.arange(10), likelihoods=each)) for each in (scored, shuffled))
        assert (good[:, None] > bad).mean() > 0.9


def test_scores_do_not_depend_on_shard_or_batch(trained, scored, tmp_path):
    whole = [Ragged.load(trained / f"valid.{side}") for side in ("src", "tgt")]
    parts = []
    for number, rows in enumerate((np.arange(5), np.arange(5, 10))):
        for side, sentences in zip(("src", "tgt"), whole, strict=True):
            sentences.take(rows).save(tmp_path / f"{number}.{side}")
        parts.append(
            likelihood_models.score(
                tmp_path / str(number), models(trained), tmp_path / f"{number}.npz", batch_tokens=40
            )
        )
    for name in MODELS:
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(scored, name))


def test_log_probabilities_do_not_depend_on_the_rows_of_a_batch(trained, tmp_path):
    """Of a model wide enough that MKL has kernels of its own for few rows."""
    spec = LANGUAGE | {"embed_dim": 64, "hidden_dim": 128, "max_updates": 1, "validate_every": 1}
    likelihood_models.train("tgt", trained / "data", spec, LONGEST, 1, tmp_path / "tgt.pt", tmp_path / "checkpoints")
    model, vocab_size, _ = likelihood_models.load("tgt", tmp_path / "tgt.pt", torch.device("cpu"))
    sentences = ids.to_fairseq(Ragged.load(trained / "bitext.tgt").take(np.arange(60)), vocab_size, "bitext")
    whole, *others = (
        likelihood_models.log_probabilities(model, sentences, batch_tokens=tokens, what="score")
        for tokens in (8192, 1, 40, 100)
    )
    for other in others:
        np.testing.assert_array_equal(other, whole)


def test_what_the_models_do_not_take_comes_last(trained, tmp_path, bpe):
    write_ids(tmp_path / "odd", ["", "der Hund " * 31, "Xyz", LINES["de"][1]], ["a", "dog", "Ω?", LINES["en"][1]], bpe)
    found = likelihood_models.score(tmp_path / "odd", models(trained), tmp_path / "odd.npz")
    for name in MODELS:
        assert np.isfinite(getattr(found, name)).tolist() == [False, False, True, True]
    pairs = Pairs(np.arange(4), likelihoods=Likelihoods.load(tmp_path / "odd.npz"))
    assert np.argsort(-nmt_lm.score(pairs), kind="stable").tolist() == [3, 2, 0, 1]
    assert dual_cross_entropy.score(pairs)[:2] == pytest.approx([0, 0])
    assert np.isfinite(nmt_lm.score(pairs)).all()


def test_an_empty_shard_has_empty_likelihoods(trained, tmp_path, bpe):
    found = likelihood_models.score(write_ids(tmp_path / "none", [], [], bpe), models(trained), tmp_path / "out.npz")
    assert len(found) == len(Likelihoods.load(tmp_path / "out.npz")) == 0
    pairs = Pairs(np.arange(0), likelihoods=found)
    assert len(nmt_lm.score(pairs)) == len(dual_cross_entropy.score(pairs)) == 0


def test_wrong_models_and_data_are_named(trained, tmp_path, bpe):
    swapped = models(trained) | {"src": trained / "tgt.pt"}
    with pytest.raises(InputError, match="is the model `tgt`, not `src`"):
        likelihood_models.score(trained / "valid", swapped, tmp_path / "out.npz")
    (tmp_path / "damaged.pt").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match=r"damaged.pt: cannot be read"):
        likelihood_models.score(
            trained / "valid", models(trained) | {"tgt": tmp_path / "damaged.pt"}, tmp_path / "out.npz"
        )
    for side in ("src", "tgt"):
        Ragged.of([[4, 5], [4, 500]]).save(tmp_path / f"other.{side}")
    with pytest.raises(InputError, match="holds id 500, but the vocabulary has"):
        likelihood_models.score(tmp_path / "other", models(trained), tmp_path / "out.npz")
    broken = torch.load(trained / "src.pt", weights_only=False)
    broken["model"]["decoder.embed_tokens.weight"][7] = math.nan
    torch.save(broken, tmp_path / "nan.pt")
    with pytest.raises(InputError, match=r"nan.pt: the log-probability of pair .* is not finite; train it again"):
        likelihood_models.score(trained / "valid", models(trained) | {"src": tmp_path / "nan.pt"}, tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


def test_nothing_to_train_on_is_named(trained, tmp_path, bpe):
    corpora = {"bitext": [write_ids(tmp_path / "one", ["der Hund"], [""], bpe)]}
    with pytest.raises(InputError, match="no corpus valid"):
        ids.prepare(corpora, VOCAB, LONGEST, tmp_path / "data")
    corpora["valid"] = [trained / "valid"]
    with pytest.raises(InputError, match=r"no sentence of src/tgt is left of .*'empty': 1"):
        ids.prepare(corpora, VOCAB, LONGEST, tmp_path / "data")
    Ragged.of([[4], [5]]).save(tmp_path / "one.tgt")
    with pytest.raises(InputError, match="unequal sides: 1 and 2 sentences"):
        ids.prepare(corpora, VOCAB, LONGEST, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_killed_training_goes_on_to_the_same_model(trained, tmp_path):
    (tmp_path / "data").symlink_to(trained / "data")
    checkpoints = tmp_path / "checkpoints"
    command = [sys.executable, "-c", TRAIN_PROGRAM, str(tmp_path), json.dumps(LANGUAGE)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    while process.poll() is None and not (checkpoints / "checkpoint_last.pt").exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "tgt.pt").exists()
    train("tgt", trained, tmp_path / "tgt.pt", checkpoints)
    assert (tmp_path / "tgt.pt").read_bytes() == (trained / "tgt.pt").read_bytes()
    assert str(trained).encode() not in (trained / "tgt.pt").read_bytes()


@st.composite
def drawn(draw: st.DrawFn) -> Likelihoods:
    n = draw(st.integers(1, 6))
    values = {name: draw(hnp.arrays(np.float32, n, elements=st.floats(-500, 0, width=32))) for name in MODELS}
    gone = draw(hnp.arrays(bool, n))
    lengths = {f"{side}_tokens": draw(hnp.arrays(np.int32, n, elements=st.integers(1, 60))) for side in ("src", "tgt")}
    return Likelihoods(**{name: np.where(gone, -np.inf, value) for name, value in values.items()}, **lengths)


@given(drawn())
def test_combinations_equal_loops(given_):
    pairs = Pairs(np.arange(len(given_)), likelihoods=given_)
    combined, dual = nmt_lm.score(pairs), dual_cross_entropy.score(pairs)
    assert combined.dtype == dual.dtype == np.float32
    for i in range(len(given_)):
        f, e = int(given_.src_tokens[i]), int(given_.tgt_tokens[i])
        totals = zip(MODELS, (e, f, f, e), strict=True)
        forward, backward, src, tgt = (max(float(getattr(given_, name)[i]) / count, -100) for name, count in totals)
        assert combined[i] == pytest.approx((forward + backward + src + tgt) / 4, rel=1e-5)
        assert dual[i] == pytest.approx(
            math.exp((forward + backward) / 2 - abs(forward - backward)), rel=1e-3, abs=1e-30
        )


def test_score_shard_takes_likelihoods_and_checks_them(scored, tmp_path):
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "label": [""] * 10})
    pq.write_table(rows, tmp_path / "shard.parquet")
    scored.save(tmp_path / "l.npz")
    score_shard(tmp_path / "shard.parquet", "nmt_lm", tmp_path / "s.npy", likelihoods=tmp_path / "l.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), nmt_lm.score(Pairs(np.arange(10), likelihoods=scored)))
    with pytest.raises(InputError, match="name `likelihoods` in its method"):
        score_shard(tmp_path / "shard.parquet", "nmt_lm", tmp_path / "s.npy")
    pq.write_table(rows.slice(1), tmp_path / "shard.parquet")
    with pytest.raises(InputError, match="10 likelihoods for the 9 pairs"):
        score_shard(tmp_path / "shard.parquet", "nmt_lm", tmp_path / "s.npy", likelihoods=tmp_path / "l.npz")


def test_commands_do_the_same(trained, scored, tmp_path, bpe):
    (tmp_path / "bpe.model").write_bytes(bpe.serialized_model_proto())
    corpora = [f"--corpus={role}={trained / role}" for role in ("bitext", "mono", "valid")]
    made = ["-o", str(tmp_path / "data")]
    run("step", "likelihood-data", *corpora, "--bpe", str(tmp_path / "bpe.model"), "--max-length", str(LONGEST), *made)
    for path in (trained / "data").rglob("*.*"):
        assert (tmp_path / "data" / path.relative_to(trained / "data")).read_bytes() == path.read_bytes()
    given_ = [f"--model={name}={path}" for name, path in models(trained).items()]
    run("step", "likelihoods", str(trained / "valid"), *given_, "-o", str(tmp_path / "l.npz"))
    np.testing.assert_array_equal(Likelihoods.load(tmp_path / "l.npz").forward, scored.forward)
    with pytest.raises(InputError, match="no model tgt"):
        run("step", "likelihoods", str(trained / "valid"), *given_[:3], "-o", str(tmp_path / "l.npz"))


def run(*arguments: str) -> None:
    cli(arguments, standalone_mode=False)


def test_likelihood_files_are_checked(scored, tmp_path):
    for copy in ("a.npz", "b.npz"):
        scored.save(tmp_path / copy)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-60])
    with pytest.raises(InputError, match=r"b.npz: cannot be read"):
        Likelihoods.load(tmp_path / "b.npz")
    columns = vars(scored) | {"tgt": np.append(scored.tgt[1:], np.float32(np.nan))}
    Likelihoods(**columns).save(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"a.npz:10: `tgt` is NaN"):
        Likelihoods.load(tmp_path / "a.npz")
