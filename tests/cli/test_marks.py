"""A byte-order mark, as editors of Windows write it, before each text that a user gives: no command takes it for text."""

import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bitextbench.cli.main import cli

sys.path.insert(0, str(Path(__file__).parents[1] / "mining"))
from test_mine_with_an_encoder import make

DE = ["Der Hund ist sehr stark.", "Die Katze ist heute neu.", "Das Haus ist nicht klein."]
EN = ["The dog is very strong.", "The cat is new today.", "The house is not small."]
UNITS = "".join(
    f'<tu><tuv xml:lang="de"><seg>{de}</seg></tuv><tuv xml:lang="en"><seg>{en}</seg></tuv></tu>'
    for de, en in zip(DE, EN, strict=True)
)
TEXTS = {
    "a.de": "\n".join(DE),
    "b.en": "\n".join(EN),
    "p.tsv": "\n".join(map("\t".join, zip(DE, EN, strict=True))),
    "p.jsonl": "\n".join(json.dumps({"src": de, "tgt": en}) for de, en in zip(DE, EN, strict=True)),
    "p.tmx": f"<tmx><body>{UNITS}</body></tmx>",
    "ids.de": "\n".join(f"d{place}\t{text}" for place, text in enumerate(DE)),
    "ids.en": "\n".join(f"e{place}\t{text}" for place, text in enumerate(EN)),
    "gold": "d0\te0\nd1\te1\nd2\te2",
    "pairs": "0.9\td0\te0\n0.8\td1\te2",
    "docs": "x\nx\ny",
    "rules.yaml": "{max_tokens: 80}",
    "run.yaml": json.dumps({"parts": [{"files": {"src": "a.de", "tgt": "b.en"}}]}),
}
LANGUAGES = ["--src-language", "de", "--tgt-language", "en"]
VECTORS = ["--src-emb", "v.npy", "--tgt-emb", "v.npy"]
BY_LETTERS = [*LANGUAGES, "--similarity", "levenshtein"]


@pytest.mark.parametrize(
    "call",
    [
        ["mine", "a.de", "b.en", *VECTORS],
        ["mine", "ids.de", "ids.en", *VECTORS, "--gold", "gold", "--precision-target", "0.5"],
        *(
            ["score", *given, *BY_LETTERS, "--append"]
            for given in (["a.de", "b.en"], ["p.tsv"], ["p.jsonl"], ["p.tmx"])
        ),
        ["filter", "p.tsv", *LANGUAGES, "--rules", "@rules.yaml"],
        ["filter", "p.jsonl", *BY_LETTERS, "--similarity", "zipporah", "--clean", "a.de", "b.en", "--pairs", "2"],
        ["encode", "a.de", "--encoder", "enc", "--language", "de"],
        ["step", "corpus", "pool", "--spec", "@run.yaml", "--src", "de", "--tgt", "en"],
        ["evaluate", "bucc", "--candidates", "pairs", "--gold", "gold", "--src-text", "ids.de", "--tgt-text", "ids.en"],
        ["evaluate", "alignment", *VECTORS, "--similarity", "levenshtein", "--src-text", "a.de", "--tgt-text", "b.en"],
        ["evaluate", "documents", *VECTORS, "--src-docs", "docs", "--tgt-docs", "docs"],
    ],
    ids=lambda call: " ".join(call[:3]),
)
def test_a_command_reads_marked_text_as_it_reads_others(call: list[str], tmp_path: Path) -> None:
    outputs, out = (
        [],
        Path({"encode": "o.npy", "score": "o.txt", "step": "corpus", "evaluate": "o.json"}.get(call[0], "o.tsv")),
    )
    for folder, mark in (("plain", ""), ("marked", "\ufeff")):
        (tmp_path / folder).mkdir()
        with contextlib.chdir(tmp_path / folder):
            for name, text in TEXTS.items():
                Path(name).write_text(f"{mark}{text}\n", encoding="utf-8")
            np.save("v.npy", np.eye(3, dtype=np.float32))
            if "enc" in call:
                make(Path("enc"), "nmt_autoencoder")
            done = CliRunner().invoke(cli, [*call, "-o", str(out)], catch_exceptions=False)
            assert done.exit_code == 0, done.stderr
            assert ("begins with a byte-order mark, which is left out" in done.stderr) == bool(
                mark and "p.tmx" not in call
            )
            outputs.append(
                {path.name: path.read_bytes() for path in (sorted(out.iterdir()) if out.is_dir() else [out])}
            )
    assert outputs[0] == outputs[1]
