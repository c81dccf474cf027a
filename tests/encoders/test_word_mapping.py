"""The map between two word spaces: closed form and search against loops, each start on a space that was turned."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.config.schema import check_part
from bitextbench.encoders import word_mapping
from bitextbench.encoders.word_mapping import Settings
from bitextbench.formats import word_vectors
from bitextbench.formats.word_vectors import WordVectors
from bitextbench.text import bpe


def turned(
    n: int = 300, d: int = 8, noise: float = 0.02, seed: int = 1
) -> tuple[WordVectors, WordVectors, torch.Tensor]:
    """Words whose vectors are a lopsided cloud, the same words turned in space, and the turn [d, d]."""
    rng = np.random.default_rng(seed)
    cloud = rng.exponential(size=(n, d)) * np.linspace(1, 3, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    vectors = cloud - cloud.mean(0)
    spoken = (vectors, vectors @ turn + noise * rng.normal(size=(n, d)))
    return (
        *(WordVectors([f"w{i}" for i in range(n)], side.astype(np.float32)) for side in spoken),
        torch.tensor(turn, dtype=torch.float32),
    )


def tensors(*sides: WordVectors) -> list[torch.Tensor]:
    return [torch.from_numpy(words.vectors) for words in sides]


def run(*arguments: str) -> None:
    found = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output


def same(words: WordVectors) -> list[tuple[str, str]]:
    return [(word, word) for word in words.words]


def slow_csls(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    cos = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (y / np.linalg.norm(y, axis=1, keepdims=True)).T
    near = [np.mean(sorted(row)[-k:]) for row in cos]
    far = [np.mean(sorted(column)[-k:]) for column in cos.T]
    return np.array([[2 * cos[i, j] - near[i] - far[j] for j in range(len(y))] for i in range(len(x))])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(0, 99))
def test_translations_have_the_highest_csls(n, m, k, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    table = slow_csls(x, y, k)
    ids, values = word_mapping.translations(torch.tensor(x), torch.tensor(y), k)
    assert values.numpy() == pytest.approx(table.max(1), abs=1e-9)
    assert ids.tolist() == table.argmax(1).tolist()
    rows, columns = word_mapping.mutual(torch.tensor(x), torch.tensor(y), k)
    back = slow_csls(y, x, k).argmax(1)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        (i, j) for i, j in enumerate(ids.tolist()) if back[j] == i
    ]


def test_blocks_change_nothing(monkeypatch):
    x, y, _ = turned(50)
    whole = word_mapping.translations(*tensors(x, y), 5)
    monkeypatch.setattr(word_mapping, "BLOCK", 7)
    parts = word_mapping.translations(*tensors(x, y), 5)
    assert torch.equal(whole[0], parts[0])
    assert torch.allclose(whole[1], parts[1], atol=1e-6)


def test_procrustes_finds_the_turn_and_is_the_best_of_the_orthogonal():
    x, y, turn = turned(noise=0)
    assert torch.allclose(word_mapping.procrustes(*tensors(x, y)), turn, atol=1e-5)
    rng = np.random.default_rng(2)
    a, b = (torch.tensor(rng.normal(size=(20, 4))) for _ in range(2))
    best = word_mapping.procrustes(a, b)
    assert torch.allclose(best @ best.T, torch.eye(4, dtype=torch.float64), atol=1e-9)
    for _ in range(20):
        other = torch.tensor(np.linalg.qr(rng.normal(size=(4, 4)))[0])
        assert torch.linalg.norm(a @ best - b) <= torch.linalg.norm(a @ other - b)


def test_a_seed_dictionary_of_a_few_words_finds_all():
    x, y, _ = turned()
    spec = Settings(start="dictionary", normalise="centre")
    weight, values = word_mapping.learn(x, y, spec, dictionary=same(x)[:12])
    assert word_mapping.induction(x, y, weight, same(x), spec)["value"] >= 98
    assert len(values) == 1 + spec.refinements
    assert max(values) > values[0]  # refinement helps, and the criterion sees it


def test_words_spelt_alike_are_a_seed():
    x, y, _ = turned()
    y = y._replace(words=[word if i < 15 else f"{word}'" for i, word in enumerate(y.words)])
    assert word_mapping.identical(x, y) == same(x)[:15]
    spec = Settings(start="identical")
    weight, _ = word_mapping.learn(x, y, spec)
    assert word_mapping.induction(x, y, weight, zip(x.words, y.words, strict=True), spec)["value"] >= 95


def test_the_adversarial_start_needs_no_dictionary():
    rng = np.random.default_rng(1)
    cloud = rng.exponential(size=(300, 5)) * np.linspace(1, 3, 5)
    cloud = torch.tensor((cloud - cloud.mean(0)) / cloud.std(), dtype=torch.float32)
    skew = torch.tensor(rng.normal(size=(5, 5)), dtype=torch.float32)
    turn = torch.matrix_exp(0.4 * (skew - skew.T))
    noise = 0.02 * torch.tensor(rng.normal(size=(300, 5)), dtype=torch.float32)
    x, y = (WordVectors([f"w{i}" for i in range(300)], side.numpy()) for side in (cloud, cloud @ turn + noise))
    spec = Settings(
        epochs=3,
        updates=100,
        batch=128,
        discriminator=64,
        discriminator_updates=2,
        learning_rate=0.2,
        smoothing=0.1,
        normalise="none",
    )

    def found(weight: torch.Tensor) -> float:
        return word_mapping.induction(x, y, weight, same(x), spec)["value"] / 100

    assert found(torch.eye(5)) < 0.1
    assert found(word_mapping.refine(*tensors(x, y), torch.eye(5), spec)[0]) < 0.5  # refinement alone does not do
    weight, values = word_mapping.learn(x, y, spec)
    assert torch.allclose(weight @ weight.T, torch.eye(5), atol=1e-4)
    assert found(weight) >= 0.95
    assert max(values) >= values[0]
    short = Settings(epochs=1, updates=5, discriminator=16)
    assert torch.equal(*(word_mapping.adversarial(*tensors(x, y), short, 3) for _ in range(2)))


def test_the_criterion_is_the_mean_cosine_of_translations_and_knows_the_right_map():
    x, y, turn = turned(60)
    a, b = (x.vectors @ turn.numpy())[:40], y.vectors[:40]
    best = slow_csls(a, b, 10).argmax(1)
    cosines = [a[i] @ b[j] / np.linalg.norm(a[i]) / np.linalg.norm(b[j]) for i, j in enumerate(best)]
    found = word_mapping.criterion(tensors(x)[0] @ turn, *tensors(y), Settings(judged=40))
    assert found == pytest.approx(np.mean(cosines), rel=1e-5)
    assert found > word_mapping.criterion(*tensors(x, y), Settings(judged=40))


def test_induction_counts_any_translation_and_only_known_words():
    x = WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32))
    y = WordVectors(["A", "B", "C"], np.eye(3, dtype=np.float32))
    pairs = [("a", "B"), ("a", "A"), ("b", "C"), ("d", "A"), ("c", "D")]
    found = word_mapping.induction(x, y, torch.eye(3), pairs, Settings(neighbours=1))
    assert {key: found[key] for key in ("value", "n", "words", "known")} == {
        "value": 50,
        "n": 2,
        "words": 4,
        "known": 2,
    }
    with pytest.raises(InputError, match="no entry of the dictionary has vectors on both sides"):
        word_mapping.induction(x, y, torch.eye(3), [("d", "A")], Settings())


def test_what_is_written_is_read(tmp_path: Path):
    words = WordVectors(["ein", "zwei", "drei"], np.array([[1.5, -2], [0, 1e-7], [3, 4]], np.float32))
    word_vectors.write(words, tmp_path / "x.vec")
    assert (tmp_path / "x.vec").read_text(encoding="utf-8").startswith("3 2\nein 1.5 -2\n")
    back = word_vectors.read(tmp_path / "x.vec")
    assert back.words == words.words
    assert np.allclose(back.vectors, words.vectors, rtol=1e-5)
    assert word_vectors.read(tmp_path / "x.vec", most=2).words == ["ein", "zwei"]
    (tmp_path / "y.vec").write_text("ein 1.5 -2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"y\.vec:1: no header `count dimension`"):
        word_vectors.read(tmp_path / "y.vec")


def text_of(folder: Path, count: int) -> list[Path]:
    """Token shards of two toy languages: the words of the target are those of the source in capitals."""
    rng = np.random.default_rng(1)
    fields = [[f"{name}{letter}" for letter in "abcdef"] for name in ("food", "town", "work")]
    src = [" ".join(rng.choice(fields[i % 3], 8)) for i in range(count)]
    tables = [
        pa.table({"id": range(0, count, 2), "src": src[k::2], "tgt": [line.upper() for line in src[k::2]]})
        for k in (0, 1)
    ]
    paths = [folder / f"0000{k}.parquet" for k in (0, 1)]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


def test_from_tokens_to_mapped_vectors_by_commands(tmp_path: Path):
    shards = [str(path) for path in text_of(tmp_path, 600)]
    sizes = json.dumps({"dimension": 8, "epochs": 5, "min_count": 1})
    for side in ("src", "tgt"):
        run(
            "step",
            "skip-gram",
            *shards,
            "--side",
            side,
            "--cased",
            "--spec",
            sizes,
            "-o",
            str(tmp_path / f"{side}.vec"),
        )
    src, tgt = (word_vectors.read(tmp_path / f"{side}.vec") for side in ("src", "tgt"))
    assert sorted(word.upper() for word in src.words) == sorted(tgt.words)
    (tmp_path / "seed.txt").write_text("".join(f"{word}\t{word.upper()}\n" for word in src.words), encoding="utf-8")
    table = pa.table({"src": ["fooda", "two words"], "tgt": ["FOODA", "x"]})
    pq.write_table(table, tmp_path / "test.parquet")
    options = ["--dictionary", str(tmp_path / "seed.txt"), "--test", str(tmp_path / "test.parquet"), "--cased"]
    run(
        "step",
        "map-words",
        *(str(tmp_path / f"{side}.vec") for side in ("src", "tgt")),
        *options,
        "--spec",
        '{"start": "dictionary"}',
        "--report",
        str(tmp_path / "x.json"),
        "-o",
        str(tmp_path),
    )
    held = json.loads((tmp_path / "x.json").read_text())
    assert held["words"] == {"src": 18, "tgt": 18}
    assert (held["induction"]["words"], held["induction"]["known"]) == (1, 1)
    weight, values = word_mapping.learn(src, tgt, Settings(start="dictionary"), 1, [(w, w.upper()) for w in src.words])
    assert held["criterion"] == pytest.approx(values)
    mapped = [word_vectors.read(tmp_path / f"mapped.{side}.vec").vectors for side in ("src", "tgt")]
    for found, words in zip(mapped, word_mapping.mapped(src, tgt, weight, Settings()), strict=True):
        assert np.allclose(found, words.vectors, atol=1e-4)


def test_pieces_get_vectors_and_are_found_as_words(tmp_path: Path):
    shards = text_of(tmp_path, 300)
    lines = (line for path in shards for line in pq.read_table(path)["src"].to_pylist())
    (tmp_path / "bpe.model").write_bytes(bpe.learn_sentencepiece(lines, 60, 1))
    word_mapping.learn_vectors(
        shards, "src", tmp_path / "x.vec", {"dimension": 4, "epochs": 1, "min_count": 1}, pieces=tmp_path / "bpe.model"
    )
    words = word_vectors.read(tmp_path / "x.vec")
    assert "▁fooda" in words.words
    assert "fooda" not in words.words
    pairs = [("fooda", "fooda"), ("towna", "x")]
    assert word_mapping.indices(pairs, words, words) == ([words.words.index("▁fooda")],) * 2


def test_dictionaries_of_both_kinds(tmp_path: Path):
    path = tmp_path / "de-en.txt"
    path.write_text("ein a\nein\tone\n", encoding="utf-8")
    assert list(word_mapping.read_dictionary(path)) == [("ein", "a"), ("ein", "one")]
    path.write_text("ein a\nein\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"de-en\.txt:2: the line does not have two fields; write a word and its translation"
    ):
        list(word_mapping.read_dictionary(path))


@pytest.mark.parametrize("subwords", [True, False])
def test_skip_gram_puts_words_of_like_company_together(tmp_path: Path, subwords):
    rng = np.random.default_rng(1)
    fields = [[f"{name}{i}" for i in range(6)] for name in ("food", "town")]
    lines = [" ".join(rng.choice(fields[i % 2], 8)) for i in range(2000)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"dimension": 10, "epochs": 3, "subwords": subwords}
    assert word_mapping.skip_gram(tmp_path / "text", tmp_path / "x.vec", **options) == 12
    words = word_vectors.read(tmp_path / "x.vec")
    unit = torch.nn.functional.normalize(*tensors(words), dim=1)
    alike = torch.tensor([[a[:4] == b[:4] for b in words.words] for a in words.words])
    assert (unit @ unit.T)[alike].mean() > (unit @ unit.T)[~alike].mean()


@pytest.mark.parametrize("subwords", [True, False])
def test_vectors_of_words_are_the_same_in_each_run(tmp_path: Path, subwords):
    rng = np.random.default_rng(1)
    words = [*map(str, rng.zipf(1.5, 20_000) % 300)]
    text = tmp_path / "text"
    text.write_text("\n".join(" ".join(words[i : i + 10]) for i in range(0, len(words), 10)), encoding="utf-8")
    options = {"dimension": 10, "epochs": 2, "min_count": 3, "subwords": subwords}
    n = word_mapping.skip_gram(text, tmp_path / "a.vec", **options)
    assert word_mapping.skip_gram(text, tmp_path / "b.vec", **options) == n
    assert (tmp_path / "a.vec").read_bytes() == (tmp_path / "b.vec").read_bytes()
    counts = Counter(words)
    frequent = sorted((word for word in counts if counts[word] >= 3), key=lambda word: (-counts[word], word))
    assert word_vectors.read(tmp_path / "a.vec").words == frequent


def test_subwords_bring_words_of_like_spelling_together(tmp_path: Path):
    rng = np.random.default_rng(1)
    words = [f"{stem}{end}" for stem in ("building", "gardener") for end in ("", "s", "x")]
    (tmp_path / "text").write_text("\n".join(" ".join(rng.permutation(words)) for _ in range(500)), encoding="utf-8")

    def gap(subwords: bool) -> float:
        word_mapping.skip_gram(tmp_path / "text", tmp_path / "x.vec", dimension=10, subwords=subwords)
        found = word_vectors.read(tmp_path / "x.vec")
        unit = torch.nn.functional.normalize(*tensors(found), dim=1)
        alike = torch.tensor([[a[:4] == b[:4] for b in found.words] for a in found.words])
        return float((unit @ unit.T)[alike].mean() - (unit @ unit.T)[~alike].mean())

    assert gap(subwords=True) > 0.2 + gap(subwords=False)


@pytest.mark.parametrize("subwords", [True, False])
def test_skip_gram_of_too_little_text(tmp_path: Path, subwords):
    (tmp_path / "text").write_text("a b\nb a\n", encoding="utf-8")
    with pytest.raises(InputError, match="no word appears 5 times; give it more text, or a lower min_count"):
        word_mapping.skip_gram(tmp_path / "text", tmp_path / "x.vec", dimension=4, subwords=subwords)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"star": "identical"}, "--spec: unknown key `star`; did you mean `start: identical`"),
        ({"start": "numerals"}, r"`start: numerals` is wrong: .*\['adversarial', 'dictionary', 'identical'\]"),
        ({"normalise": "center"}, r"`normalise: center` is wrong: .*\['none', 'unit', 'centre'\]"),
    ],
)
def test_a_wrong_spec_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        check_part("mapping", given, "--spec")


def test_bad_input_is_an_error():
    x, y, _ = turned(20)
    with pytest.raises(InputError, match="8 and 3 dimensions; make the two equal"):
        word_mapping.learn(x, y._replace(vectors=y.vectors[:, :3]), Settings())
    with pytest.raises(InputError, match="no entry of the dictionary has vectors on both sides"):
        word_mapping.learn(x, y, Settings(start="dictionary"), dictionary=[("x", "y")])


@pytest.mark.parametrize("subwords", [True, False])
def test_skip_gram_goes_on_after_its_last_epoch_and_ends_in_the_same_bytes(tmp_path: Path, monkeypatch, subwords):
    text = tmp_path / "text"
    rng = np.random.default_rng(1)
    text.write_text("".join(" ".join(f"w{n}" for n in rng.integers(0, 50, 8)) + "\n" for _ in range(300)))
    options = {"dimension": 8, "epochs": 3, "min_count": 1, "subwords": subwords}
    word_mapping.skip_gram(text, tmp_path / "whole.vec", **options)
    checkpoints, keep, killed = tmp_path / "checkpoints", word_mapping._keep, []

    def killed_after(*done):
        keep(*done)
        killed.append(done[-1])
        raise KeyboardInterrupt

    monkeypatch.setattr(word_mapping, "_keep", killed_after)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            word_mapping.skip_gram(text, tmp_path / "broken.vec", **options, checkpoints=checkpoints)
    assert killed == [1, 2, 3]
    with pytest.raises(InputError, match="checkpoint of another configuration, other data or other code"):
        word_mapping.skip_gram(text, tmp_path / "x.vec", **options | {"dimension": 9}, checkpoints=checkpoints)
    word_mapping.skip_gram(text, tmp_path / "broken.vec", **options, checkpoints=checkpoints)
    assert (tmp_path / "broken.vec").read_bytes() == (tmp_path / "whole.vec").read_bytes()
    assert not checkpoints.exists()
