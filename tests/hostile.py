"""Hostile calls of the five commands for texts: what each makes of wrong numbers, names, files, folders and streams.

    python tests/hostile.py [EVERY]     run all calls (or each EVERY-th); prints those that break a promise

A call that is wrong ends with code 2, one line of error and nothing new on disk; one that is right with code 0. None ends
in a traceback. `right` calls are odd, but mean something. Calls run in forks of one process, which has loaded all.
"""

import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent / "mining"))
DE = ["Der Hund ist sehr stark.", "Die Katze ist heute neu.", "Das Haus ist nicht klein.", "Peter kauft zwei Autos."]
EN = ["The dog is very strong.", "The cat is new today.", "The house is not small.", "Peter buys two cars."]
LANGUAGES = ["--src-language", "de", "--tgt-language", "en"]
SPEC = {"type": "nmt_autoencoder", "model": {"embedding": 8, "hidden": 8}, "training": {"batch": 2, "updates": 2}}


class Call(NamedTuple):
    """`arguments` of bitextbench in the folder that `prepare` filled; `right`: whether the call means something.

    `closed`: the standard streams that the caller has closed.
    """

    arguments: list[str]
    right: bool = False
    closed: tuple[int, ...] = ()


def prepare(place: Path) -> None:
    """Texts, vectors, an encoder with random weights, and files that are none of these."""
    from test_mine_with_an_encoder import make

    make(place / "enc", "nmt_autoencoder")
    for name, lines in (("a.de", DE), ("b.en", EN), ("p.tsv", map("\t".join, zip(DE, EN, strict=True)))):
        (place / name).write_text("".join(f"{line}\n" for line in lines))
    rng = np.random.default_rng(1)
    for name in ("a.npy", "b.npy"):
        np.save(place / name, rng.standard_normal((4, 8)).astype(np.float32))
    damaged(place)
    encoders(place)


def damaged(place: Path) -> None:
    """Files that are empty, binary, cut, packed in another way, or of another kind than their names say."""
    text = "\n".join(DE).encode()
    contents = {
        "empty": b"",
        "blank": b"\n \n\t\n",
        "junk": bytes(range(256)) * 9,
        "nul": b"a\0b\n",
        "latin1": "grün\n".encode("latin-1"),
        "utf16": "grün\n".encode("utf-16"),
        "cr": b"a\rb\rc\r",
        "cut.gz": gzip.compress(text * 99)[:40],
        "plain.gz": text,
        "junk.gz": b"\x1f\x8b" + bytes(99),
        "plain.zst": text,
        "plain.xz": text,
        "junk.parquet": bytes(99),
        "junk.npy": bytes(99),
        "junk.npz": b"PK\3\4" + bytes(99),
        "junk.json": b"{",
        "one.tsv": b"one column\n",
        "packed": gzip.compress(text),
        "blank.gz": gzip.compress(b"\n" * 20_000_000),
        "bom": b"\xef\xbb\xbf" + text,
        "long": b"x" * 70_000 + b"\n" + text,
    }
    for name, content in contents.items():
        (place / name).write_bytes(content)
    arrays = {
        "flat": np.ones(4, np.float32),
        "whole": np.ones((4, 8), np.int64),
        "nan": np.full((4, 8), np.nan, np.float32),
        "text": np.array([["a"] * 8] * 4),
        "less": np.ones((3, 8), np.float32),
        "narrow": np.ones((4, 7), np.float32),
        "none": np.ones((4, 0), np.float32),
        "deep": np.ones((4, 2, 4), np.float32),
        "inf": np.full((4, 8), np.inf, np.float32),
        "huge": np.full((4, 8), 1e38, np.float32),
    }
    for name, array in arrays.items():
        np.save(place / f"{name}.npy", array)
    np.save(place / "pickle.npy", np.array([{}] * 4, object), allow_pickle=True)
    np.savez(place / "foreign.npz", a=np.ones(3))
    for similarity in ("mlp", "zipporah", "cosine", "nonsense"):
        about = json.dumps({"similarity": similarity, "languages": ["de", "en"], "encoder": None})
        np.savez(place / f"{similarity}.npz", scorer=np.array(about), W0=np.ones(3), words=np.ones(3))
    for name, columns in {
        "ints": {"src": [1, 2], "tgt": [3, 4]},
        "other": {"x": DE, "y": EN},
        "lists": {"text": [DE, EN]},
    }.items():
        pq.write_table(pa.table(columns), place / f"{name}.parquet")
    (place / "folder").mkdir()
    os.mkfifo(place / "pipe")


def encoders(place: Path) -> None:
    """Folders of encoders that are damaged or foreign."""
    for name in ("no_model", "no_text", "flipped", "cut", "of_list", "old"):
        shutil.copytree(place / "enc", place / name)
    (place / "no_model/model.pt").unlink()
    (place / "no_text/text_model").unlink()
    model = (place / "enc/model.pt").read_bytes()
    (place / "flipped/model.pt").write_bytes(model[:999] + bytes([model[999] ^ 1]) + model[1000:])
    (place / "cut/model.pt").write_bytes(model[:999])
    (place / "of_list/encoder.json").write_text("[]")
    (place / "old/encoder.json").write_text('{"format": 0}')
    config = {"model_type": "bert", "vocab_size": 0, "hidden_size": -1, "num_attention_heads": 0}
    for name, files in {
        "bert": {"config.json": config},
        "modules": {"modules.json": [{"type": "torch", "path": ""}]},
        "outside": {"modules.json": [{"type": "sentence_transformers.models.Transformer", "path": "../enc"}]},
        "no_modules": {"modules.json": []},
        "text_modules": {"modules.json": "x"},
        "remote": {"config.json": {"auto_map": {"AutoModel": "x.Y"}}},
        "evil": {"config.json": {"model_type": "bert", "torch_dtype": "evil"}},
        "decoder": {"config.json": {"is_encoder_decoder": True}},
    }.items():
        (place / name).mkdir()
        for file, held in files.items():
            (place / name / file).write_text(json.dumps(held))


NUMBERS = {
    "--threads": ["0", "-1", "nan", "1.5", "99999999999999999999", ""],
    "--gpus": ["-1", "x"],
    "--seed": ["-1", "4294967296"],
    "--share": ["nan", "0", "-1", "1.1", "inf"],
    "--words": ["0", "-5", "1e3"],
    "--pairs": ["0", "x"],
    "--threshold": ["nan", "x"],
    "-k": ["0", "-1", "1000000"],
    "--memory": ["nan", "0", "-1", "inf", "0.0001"],
    "--precision-target": ["nan", "0", "2"],
}
OF = {
    "filter": ("--threads", "--gpus", "--seed", "--share", "--words", "--pairs", "--threshold"),
    "score": ("--threads", "--gpus", "--seed"),
    "mine": ("--threads", "--gpus", "-k", "--memory", "--threshold", "--precision-target"),
    "encode": ("--threads", "--gpus"),
    "train": ("--threads", "--gpus", "--seed"),
}
PLACES = ["folder", "a.de/x.tsv", "/proc/x.tsv", "/dev/stdout", "n" * 256 + ".tsv", "pipe", "."]
TEXTS = [
    "missing",
    "folder",
    "empty",
    "junk",
    "nul",
    "latin1",
    "utf16",
    "cr",
    "cut.gz",
    "plain.gz",
    "junk.gz",
    "plain.zst",
    "plain.xz",
    "junk.parquet",
    "ints.parquet",
    "other.parquet",
    "packed",
    "blank.gz",
]
FOLDERS = [
    "missing",
    "folder",
    "a.de",
    "no_model",
    "no_text",
    "flipped",
    "cut",
    "of_list",
    "old",
    "bert",
    "modules",
    "outside",
    "no_modules",
    "text_modules",
    "remote",
    "evil",
    "decoder",
]
SETTINGS = [
    "{hidden: x}",
    "{hidden: [1.5]}",
    "{hidden: [0]}",
    "{hidden: [-1]}",
    "{hidden: [100000000]}",
    "{max_iter: 0}",
    "{max_iter: x}",
    "{none: 1}",
    "[1]",
    "{",
]
RULES = ["{none: 1}", "{max_tokens: x}", "[1]", "{", "{max_ratio: .nan}", "@missing", "@junk"]


def usual(command: str) -> list[str]:
    """A right call, without its output."""
    return {
        "mine": ["mine", "a.de", "b.en", "--src-emb", "a.npy", "--tgt-emb", "b.npy", *LANGUAGES],
        "filter": ["filter", "p.tsv", *LANGUAGES, "--rules", "{}"],
        "score": ["score", "p.tsv", *LANGUAGES, "--similarity", "levenshtein"],
        "encode": ["encode", "a.de", "--encoder", "enc", "--language", "de"],
        "train": [
            "train",
            "--spec",
            json.dumps(SPEC),
            "--bpe",
            "enc/text_model",
            "--src",
            "de",
            "--tgt",
            "en",
            "--corpus",
            "bitext=none",
            "--corpus",
            "valid=none",
            "--checkpoints",
            "checkpoints",
        ],
    }[command]


def calls() -> Iterator[Call]:
    """All of them."""
    outs = {"mine": "o.tsv", "filter": "o.tsv", "score": "o.txt", "encode": "o.npy", "train": "m/model.pt"}
    for command, out in outs.items():
        yield Call([*usual(command), "-o", out], command != "train")
        for option in OF[command]:
            yield from (Call([*usual(command), option, value, "-o", out]) for value in NUMBERS[option])
        yield from (Call([*usual(command), "-o", place]) for place in PLACES)
        yield Call([*usual(command), "-o", usual(command)[1] if command != "train" else "enc/text_model"])
    for text in TEXTS:
        if text != "blank.gz":  # it counts 16 million empty pairs for minutes before it gives up
            yield Call(["score", text, *LANGUAGES, "--similarity", "levenshtein", "-o", "o.txt"], text == "empty")
        yield Call(["mine", text, "b.en", "--src-emb", "a.npy", "--tgt-emb", "b.npy", "-o", "o.tsv"])
    yield from (Call(["encode", text, "--encoder", "enc", "--language", "de", "-o", "o.npy"]) for text in TEXTS)
    yield from (Call(["filter", text, *LANGUAGES, "-o", "o.tsv"], text == "empty") for text in TEXTS)
    yield from (
        Call(["encode", name, "--encoder", "enc", "--language", "de", "-o", "o.npy"], True)
        for name in ("bom", "long", "blank")
    )
    for folder in FOLDERS:
        yield Call(["encode", "a.de", "--encoder", folder, "--language", "de", "-o", "o.npy"])
    for name in ("flat", "whole", "nan", "text", "less", "narrow", "none", "deep", "inf", "huge", "pickle", "junk"):
        yield Call(["mine", "a.de", "b.en", "--src-emb", f"{name}.npy", "--tgt-emb", "b.npy", "-o", "o.tsv"])
    for name in ("junk", "foreign", "mlp", "zipporah", "cosine", "nonsense"):
        yield Call(["score", "p.tsv", *LANGUAGES, "--encoder", "enc", "--scorer", f"{name}.npz", "-o", "o.txt"])
    for given in SETTINGS:
        learns = ["--similarity", "mlp", "--encoder", "enc", "--clean", "a.de", "b.en", "--threshold", "0"]
        yield Call([*usual("filter"), *learns, "--settings", given, "-o", "o.tsv"])
    yield from (Call(["filter", "p.tsv", *LANGUAGES, "--rules", rules, "-o", "o.tsv"]) for rules in RULES)
    for code in ("german", "qq", "", "d e", "../x"):
        yield Call(["filter", "p.tsv", "--src-language", code, "--tgt-language", "en", "-o", "o.tsv"])
    for columns in ("1", "0,1", "1,9", "x,y", "1,1,1,1", ""):
        yield Call(["filter", "p.tsv", *LANGUAGES, "--columns", columns, "-o", "o.tsv"])
    yield Call([*usual("filter"), "-o", "o.tsv", "--explain", "o.tsv"])
    yield Call([*usual("filter"), "-o", "o.xlsx"])
    yield Call([*usual("score")], closed=(1,))
    yield Call(["score", "-", *usual("score")[2:]], closed=(0,))
    yield Call([*usual("score"), "-o", "o.txt"], True, (0, 1, 2))


def run(call: Call, place: Path) -> tuple[int, str]:
    """The code and the standard error of a call in a fork of this process, which has all modules."""
    log = place / ".log"
    if (child := os.fork()) == 0:
        os.chdir(place)
        for number, path, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, os.devnull, os.O_WRONLY),
            (2, log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY),
        ):
            os.dup2(os.open(path, flags, 0o600), number)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(os.fdopen(number, mode))
            for number, mode in (
                (0, "rb"),
                (
                    1,
                    "wb",
                ),
                (2, "wb"),
            )
        )
        for number in call.closed:
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)
        os._exit(finish(call.arguments))
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -9, "did not end in two minutes"


def finish(arguments: list[str]) -> int:
    """Run a command to its end; the code."""
    import traceback

    from bitextbench.cli.main import main

    sys.argv = ["bitextbench", *arguments]
    code = 1
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and code != 2:
            stream.flush()
    return code


def listed(place: Path) -> set[str]:
    """What is on disk, less the caches of vectors."""
    return {str(path.relative_to(place)) for path in place.rglob("*")} - {".log"}


def broken(call: Call, place: Path) -> str:
    """How a call breaks a promise; "" if it does not. What it wrote is removed."""
    before = listed(place)
    code, said = run(call, place)
    new = {path for path in listed(place) - before if not path.startswith("cache")}
    for path in sorted(new, reverse=True):
        (place / path).rmdir() if (place / path).is_dir() else (place / path).unlink()
    errors = [line for line in said.splitlines() if line.startswith(("bitextbench: error: ", "Error: "))]
    if "Traceback" in said:
        return f"traceback: {said.strip().splitlines()[-1]}"
    if code != (0 if call.right else 2):
        return f"code {code}: {said.strip()[-200:]}"
    if not call.right and len(errors) != 1:
        return f"{len(errors)} lines of error"
    return f"left {sorted(new)}" if new and not call.right else ""


def campaign(every: int = 1) -> tuple[int, list[str]]:
    """The number of calls, and those that break a promise."""
    import bitextbench.encoders.plain
    import bitextbench.encoders.pretrained
    import bitextbench.mining.crawl
    import bitextbench.mining.stream
    import bitextbench.mining.texts  # noqa: F401  once, for all forks

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        prepare(place)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        chosen = [*calls()][::every]
        found = [(call, broken(call, place)) for call in chosen]
    return len(chosen), [f"{' '.join(call.arguments)}: {how}" for call, how in found if how]


if __name__ == "__main__":
    count, wrong = campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print(*wrong, f"{count} calls, {len(wrong)} break a promise", sep="\n")
    sys.exit(bool(wrong))
