"""The real fairseq, end to end on a toy language: prepare, train, translate, score."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import hydra
import numpy as np
import pytest
import sentencepiece
import torch

from bitextbench.base.errors import InputError
from bitextbench.evaluation.bleu import bleu
from bitextbench.formats.ids import Ragged
from bitextbench.nmt import data, fairseq_shim, ids, train, translate
from bitextbench.nmt.fairseq_shim import fairseq
from bitextbench.text.bpe import learn_sentencepiece

PAIR = ("de", "en")
SPEC = {
    "vocab_size": 120, "max_length": 20, "layers": 3, "embed_dim": 32, "ffn_dim": 64, "heads": 2, "dropout": 0.1,
    "normalise": "before", "label_smoothing": 0.1, "learning_rate": 0.01, "warmup_updates": 10, "decay": "inverse_sqrt", "clip": 1.0,
    "max_tokens": 400, "update_freq": 1, "max_updates": 30, "validate_every": 10, "patience": 0, "ensemble": 1, "beam": 2, "length_penalty": 1.0, "batch_tokens": 1000,
}  # fmt: skip
WORDS = {
    "de": (
        ["der Hund", "die Katze", "ein Kind", "das Pferd"],
        ["sieht", "sucht", "kennt"],
        ["den Ball", "das Haus", "ein Buch", "die Stadt"],
    ),
    "en": (
        ["the dog", "the cat", "a child", "the horse"],
        ["sees", "seeks", "knows"],
        ["the ball", "the house", "a book", "the town"],
    ),
}
LINES = {language: [" ".join(words) + " ." for words in itertools.product(*slots)] for language, slots in WORDS.items()}

TRAIN_PROGRAM = """
import json, sys
from pathlib import Path
from bitextbench.nmt.train import train
folder, spec = Path(sys.argv[1]), json.loads(sys.argv[2])
train(folder / "data", ("de", "en"), spec, 1, folder / "model.pt", folder / "checkpoints")
"""


def write_selection(folder: Path, sources: list[str], targets: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for language, lines in zip(PAIR, (sources, targets), strict=True):
        (folder / f"train.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def parameters(model: Path) -> dict[str, bytes]:
    state = torch.load(model, weights_only=False)
    return {name: value.numpy().tobytes() for name, value in state["model"].items()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with data/ and model.pt, trained for 30 updates without a break."""
    folder = tmp_path_factory.mktemp("nmt")
    selected = write_selection(folder / "selected", LINES["de"][:40] * 5, LINES["en"][:40] * 5)
    data.prepare(selected, (LINES["de"][40:], LINES["en"][40:]), PAIR, SPEC, folder / "data")
    train.train(folder / "data", PAIR, SPEC, 1, folder / "model.pt", folder / "checkpoints")
    return folder


def test_prepare_counts_what_it_leaves_out_and_repeats(trained, tmp_path):
    sources, targets = LINES["de"][:40] * 5, LINES["en"][:40] * 5
    dirty = write_selection(tmp_path / "selected", [*sources, "", "Hund " * 30, "Hund"], [*targets, "a", "dog", " "])
    valid = (LINES["de"][40:], LINES["en"][40:])
    for name in ("a", "b"):
        data.prepare(dirty, valid, PAIR, SPEC, tmp_path / name)
    counts = json.loads((tmp_path / "a" / "counts.json").read_text(encoding="utf-8"))
    assert counts["train"] == {"lines": 203, "kept": 200, "empty": 2, "too long": 1}
    assert counts["valid"] == {"lines": 8, "kept": 8, "empty": 0, "too long": 0}
    first, second = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()}
        for f in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second
    assert str(tmp_path).encode() not in b"".join(first.values())


def test_the_data_are_what_fairseq_makes_of_the_same_pieces(trained, tmp_path):
    made, bpe = trained / "data" / "data-bin", data.load_bpe(trained / "data")
    for language in PAIR:
        lines = (" ".join(map(str, bpe.encode(line))) for line in LINES[language][:40] * 5)
        (tmp_path / f"text.{language}").write_text("".join(f"{line}\n" for line in lines))
    fairseq_shim.run(
        "preprocess",
        [
            "--source-lang",
            "de",
            "--target-lang",
            "en",
            "--srcdict",
            f"{made}/dict.de.txt",
            "--joined-dictionary",
            "--trainpref",
            f"{tmp_path}/text",
            "--destdir",
            str(tmp_path / "theirs"),
        ],
    )
    for suffix in ("de.bin", "de.idx", "en.bin", "en.idx"):
        name = f"train.de-en.{suffix}"
        assert (made / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


@pytest.mark.parametrize("size", [65_499, 65_500])
def test_a_number_takes_as_many_bytes_as_fairseq_gives_it(tmp_path, size):
    from fairseq.data import indexed_dataset

    sentence = [5, size - 1, ids.EOS]
    builder = indexed_dataset.make_builder(str(tmp_path / "theirs.bin"), "mmap", vocab_size=size)
    builder.add_item(torch.tensor(sentence))
    builder.finalize(str(tmp_path / "theirs.idx"))
    ids.write_texts([[Ragged.of([sentence])]], [tmp_path / "own"], size)
    for ending in ("bin", "idx"):
        assert (tmp_path / f"own.{ending}").read_bytes() == (tmp_path / f"theirs.{ending}").read_bytes()


def test_a_side_of_just_so_many_pieces_is_kept(tmp_path):
    bpe = sentencepiece.SentencePieceProcessor(model_proto=learn_sentencepiece(iter(LINES["de"] + LINES["en"]), 120, 1))
    lines = ["der Hund", "der Hund sieht den Ball ."]
    pieces = [bpe.encode(line) for line in lines]
    for side in ("src", "tgt"):
        Ragged.of(pieces if side == "src" else pieces[:1] * 2).save(f"{tmp_path}/shard.{side}")
    corpora = {role: [tmp_path / "shard"] for role in ("bitext", "valid")}
    for most, kept in ((len(pieces[1]), 2), (len(pieces[1]) - 1, 1)):
        counts = {"lines": 2, "kept": kept, "empty": 0, "too long": 2 - kept}
        assert data._kept(bpe, [lines, lines[:1] * 2], most, "x")[1] == counts
        ids.prepare(corpora, bpe.get_piece_size(), most, tmp_path / f"data{most}")
        found = json.loads((tmp_path / f"data{most}/counts.json").read_text())
        assert found["translation"]["train"] == found["src"]["valid"] == counts


def test_translate_and_score(trained, tmp_path):
    sources = {"long": [*LINES["de"], "", "der Hund " * 30], "short": LINES["de"][:3]}
    out = {name: tmp_path / name for name in sources}
    translate.translate([trained / "model.pt"], trained / "data", PAIR, sources, SPEC, out)
    long, short = (out[name].read_text(encoding="utf-8").split("\n")[:-1] for name in sources)
    assert (len(long), len(short)) == (50, 3)
    assert long[48] == ""
    assert long[:3] == short  # the order is that of the sources
    assert not any("▁" in line or " ." in line for line in long)
    references = [line.replace(" .", ".") for line in LINES["en"]]
    assert bleu(long[:48], references, "en")["value"] > 10  # chance: this is a really trained model
    shuffled = references[24:] + references[:24]
    assert bleu(long[:48], references, "en")["value"] > bleu(long[:48], shuffled, "en")["value"]


def test_a_source_of_more_pieces_is_cut_and_counted(tmp_path, capsys):
    selected = write_selection(tmp_path / "selected", LINES["de"], LINES["en"])
    data.prepare(selected, (LINES["de"], LINES["en"]), PAIR, SPEC, tmp_path / "data")
    lines = ["der Hund", "der Hund sieht den Ball ."]
    few, many = (len(data.load_bpe(tmp_path / "data").encode(line)) for line in lines)
    for most, said in ((many, ""), (many - 1, f"translate: 1 of 2 sources are cut to {many - 1} pieces\n")):
        (tmp_path / str(most)).mkdir()
        capsys.readouterr()
        translate._binarize(lines, PAIR, most, tmp_path / "data", tmp_path / str(most))
        assert capsys.readouterr().err == said
        lengths = np.fromfile(tmp_path / f"{most}/test.de-en.de.idx", np.int32, 2, offset=26)
        assert lengths.tolist() == [few + 1, most + 1]  # with the end of the sentence


def test_an_ensemble_is_of_the_last_epochs(trained, tmp_path):
    spec = SPEC | {"ensemble": 2}
    arguments = trained / "data", PAIR, spec, 1, tmp_path / "model.pt", tmp_path / "checkpoints"
    models = train.train(*arguments)
    saved = {int(path.stem[10:]) for path in (tmp_path / "checkpoints").glob("checkpoint[0-9].pt")}
    assert [path.name for path in models] == [f"checkpoint{epoch}.pt" for epoch in sorted(saved)]
    assert train.train(*arguments) == models  # also of a training that has ended
    assert parameters(tmp_path / "model.pt") == parameters(trained / "model.pt")
    hypotheses = []
    for chosen in (models[:1], models[1:], models, models[1:] * 3):
        out = {"test": tmp_path / "out"}
        translate.translate(chosen, trained / "data", PAIR, {"test": LINES["de"]}, spec, out)
        hypotheses.append(out["test"].read_text(encoding="utf-8"))
    first, last, both, thrice = hypotheses
    assert thrice == last  # the mean of equal distributions
    assert first != both
    with pytest.raises(InputError, match="there are 2 whole epochs, but the ensemble has 3 models"):
        train.latest(tmp_path / "checkpoints", 3)


def test_the_last_epochs_are_the_highest_numbers(tmp_path):
    for name in ("2", "10", "9", "_last", "_best", "_10_400"):
        (tmp_path / f"checkpoint{name}.pt").touch()
    assert [path.name for path in train.latest(tmp_path, 2)] == ["checkpoint9.pt", "checkpoint10.pt"]


def test_the_model_file_holds_the_parameters_and_no_path(trained):
    content = (trained / "model.pt").read_bytes()
    assert str(trained).encode() not in content
    assert len(content) < (trained / "checkpoints" / "checkpoint_last.pt").stat().st_size / 2


@pytest.mark.parametrize("killed_at", [".tmp", "checkpoint_last.pt"])
def test_a_killed_training_goes_on_to_the_same_model(trained, tmp_path, killed_at):
    """Killed at the first sight of a half-written checkpoint, or of a whole one to go on from."""
    (tmp_path / "data").symlink_to(trained / "data")
    checkpoints = tmp_path / "checkpoints"
    command = [sys.executable, "-c", TRAIN_PROGRAM, str(tmp_path), json.dumps(SPEC)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    while process.poll() is None and not any(checkpoints.glob(f"*{killed_at}")):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "model.pt").exists()
    (checkpoints / "checkpoint_last.pt.tmp").write_bytes(b"half")
    train.train(tmp_path / "data", PAIR, SPEC, 1, tmp_path / "model.pt", checkpoints)
    assert (tmp_path / "model.pt").read_bytes() == (trained / "model.pt").read_bytes()


def test_a_job_killed_after_its_training_writes_the_same_bytes(trained, tmp_path):
    """The job that goes on is another process, which trains no more."""
    shutil.copytree(trained / "checkpoints", tmp_path / "checkpoints")
    arguments = json.dumps(
        [str(trained / "data"), PAIR, SPEC, 1, str(tmp_path / "model.pt"), str(tmp_path / "checkpoints")]
    )
    code = f"import json; from pathlib import Path; from bitextbench.nmt import train\ndata, pair, spec, seed, out, checkpoints = json.loads({arguments!r})\ntrain.train(Path(data), tuple(pair), spec, seed, Path(out), Path(checkpoints))"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "model.pt").read_bytes() == (trained / "model.pt").read_bytes()


def test_an_early_stop_survives_a_break(trained, tmp_path):
    """With next to no learning rate nothing is gained: patience 2 ends at the third validation, interrupted or not."""
    spec = SPEC | {"learning_rate": 1e-12, "patience": 2, "validate_every": 2}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train.train(trained / "data", PAIR, spec, 1, tmp_path / "whole.pt", whole)
    train.train(trained / "data", PAIR, spec | {"max_updates": 4}, 1, tmp_path / "short.pt", broken)
    shutil.copy(whole / "run.json", broken)  # as if the same run had been killed after 4 updates
    for _ in range(2):  # the second time it knows that it has ended, and makes no further update
        train.train(trained / "data", PAIR, spec, 1, tmp_path / "model.pt", broken)
        state = torch.load(broken / "checkpoint_last.pt", weights_only=False)
        assert state["extra_state"]["early_stop"]["num_runs"] == 2
        assert state["optimizer_history"][-1]["num_updates"] == 6
    assert parameters(tmp_path / "model.pt") == parameters(tmp_path / "whole.pt")


def test_checkpoints_of_another_run_are_an_error_and_stay(trained, tmp_path):
    checkpoints = shutil.copytree(trained / "checkpoints", tmp_path / "checkpoints")
    before = sorted(path.name for path in checkpoints.iterdir())
    for spec, seed in ((SPEC, 7), (SPEC | {"max_updates": 2}, 1)):
        with pytest.raises(
            InputError, match=r"checkpoint of another configuration, other data or other code; .*remove it"
        ):
            train.train(trained / "data", PAIR, spec, seed, tmp_path / "model.pt", checkpoints)
    (checkpoints / "run.json").unlink()  # and those of which nobody knows
    with pytest.raises(InputError, match="another configuration"):
        train.train(trained / "data", PAIR, SPEC, 1, tmp_path / "model.pt", checkpoints)
    assert sorted(path.name for path in checkpoints.iterdir()) == [name for name in before if name != "run.json"]


def test_a_linear_rate_falls_to_0_with_or_without_a_break(trained, tmp_path):
    """The broken one is interrupted at its checkpoint of update 15."""
    spec = SPEC | {"decay": "linear", "validate_every": 15}
    kept = {}
    save = fairseq.checkpoint_utils.torch_persistent_save

    def keep(state, path, *rest, **more):
        updates = state["optimizer_history"][-1]["num_updates"]
        kept[updates] = state["last_optimizer_state"]["param_groups"][0]["lr"]
        save(state, path, *rest, **more)
        if updates == 15 and path.startswith(str(broken)):
            shutil.copy(path, broken / "checkpoint_last.pt")
            raise KeyboardInterrupt

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairseq.checkpoint_utils.torch_persistent_save", keep)
        train.train(trained / "data", PAIR, spec, 1, tmp_path / "whole.pt", whole)
        assert kept == {15: pytest.approx(0.01 * 15 / 20), 30: 0.0}
        with pytest.raises(KeyboardInterrupt):
            train.train(trained / "data", PAIR, spec, 1, tmp_path / "broken.pt", broken)
    train.train(trained / "data", PAIR, spec, 1, tmp_path / "broken.pt", broken)
    assert parameters(tmp_path / "broken.pt") == parameters(tmp_path / "whole.pt") != parameters(trained / "model.pt")


@pytest.mark.skipif(torch.cuda.is_available(), reason="here a GPU is present")
def test_a_configuration_is_what_hydra_composes(monkeypatch):
    def composed(spec, seed, data):
        options = train.arguments(train.translation(PAIR, spec) | train._schedule(spec))
        parser = fairseq.options.get_training_parser()
        arguments = fairseq.options.parse_args_and_arch(parser, [data, "--cpu", "--seed", str(seed), *options])
        return str(fairseq.dataclass.utils.convert_namespace_to_omegaconf(arguments))

    composed(SPEC, 1, "/a")
    kept = composed({**SPEC, "learning_rate": 0.5, "dropout": 0.0}, 2, "it's")
    monkeypatch.setattr("fairseq.dataclass.utils.compose", hydra.compose)
    assert kept == composed({**SPEC, "learning_rate": 0.5, "dropout": 0.0}, 2, "it's")


def test_layers_normalise_before_or_after(trained, tmp_path):
    """Vaswani et al. 2017 normalise after each layer, Sockeye before it, and the whole output once more."""
    spec = SPEC | {"normalise": "after", "clip": 0, "max_updates": 2, "validate_every": 2}
    assert "--clip-norm 0 " in " ".join(train.arguments(train._schedule(spec)))
    train.train(trained / "data", PAIR, spec, 1, tmp_path / "after.pt", tmp_path / "checkpoints")
    last = {"encoder.layer_norm.weight", "decoder.layer_norm.weight"}
    assert last < {*parameters(trained / "model.pt")}
    assert not last & {*parameters(tmp_path / "after.pt")}


def test_adam_over_one_vector_is_fairseqs():
    def trained(kind):
        torch.manual_seed(1)
        model = torch.nn.Linear(7, 5)
        adam = kind(fairseq.optim.adam.FairseqAdamConfig(lr=[0.1], adam_betas="(0.9, 0.98)"), model.parameters())
        for _ in range(3):
            adam.zero_grad()
            adam.backward(model(torch.ones(2, 7)).square().sum())
            adam.clip_grad_norm(1.0)
            adam.step()
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    torch.testing.assert_close(trained(fairseq_shim._FlatAdam), trained(fairseq_shim.FairseqAdam))


def test_a_missing_gpu_is_said(trained, tmp_path):
    with pytest.raises(InputError, match=r"a GPU was asked for, but torch finds none; set device: cpu"):
        train.train(trained / "data", PAIR, SPEC, 1, tmp_path / "model.pt", tmp_path / "checkpoints", device="cuda")
    assert not list(tmp_path.iterdir())


def test_bad_selections_are_named(tmp_path):
    valid = (LINES["de"], LINES["en"])
    cases = {
        "the selection is empty; raise the word budget": ([], []),
        "2 source lines but 1 target lines": (["a", "b"], ["a"]),
        "no pair is left": (["a", ""], ["", "a"]),
    }
    for message, (sources, targets) in cases.items():
        with pytest.raises(InputError, match=message):
            data.prepare(write_selection(tmp_path / "selected", sources, targets), valid, PAIR, SPEC, tmp_path / "data")
        assert [path.name for path in tmp_path.iterdir()] == ["selected"]


@pytest.mark.parametrize("name", ["train.de-en.de.bin", "valid.de-en.en.idx", "dict.de.txt"])
def test_data_that_changed_are_not_trained_on(trained, tmp_path, name):
    made = shutil.copytree(trained / "data", tmp_path / "data")
    path = made / "data-bin" / name
    held = bytearray(path.read_bytes())
    held[-3] ^= 1
    path.write_bytes(held)
    with pytest.raises(InputError, match=f"{name}: has changed since it was written"):
        train.train(made, PAIR, SPEC, 1, tmp_path / "model.pt", tmp_path / "checkpoints")
    assert not (tmp_path / "checkpoints").exists()


def test_an_empty_test_set_is_named(trained, tmp_path):
    with pytest.raises(InputError, match="test2017: the test set is empty"):
        translate.translate(
            [trained / "model.pt"], trained / "data", PAIR, {"test2017": []}, SPEC, {"test2017": tmp_path / "hyp"}
        )


def test_lost_hypotheses_are_noticed(tmp_path):
    (tmp_path / "generate-test.txt").write_text("H-1\t-0.5\tb\nH-0\t-0.5\ta\n", encoding="utf-8")
    assert translate._read_hypotheses(tmp_path / "generate-test.txt", 2) == ["a", "b"]
    with pytest.raises(RuntimeError, match="2 hypotheses for 3 sources"):
        translate._read_hypotheses(tmp_path / "generate-test.txt", 3)


def test_the_shim_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "bitextbench.nmt.fairseq_shim", "generate", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--lenpen" in done.stdout
