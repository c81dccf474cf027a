"""What must hold on a GPU, and how fast it is, in ten minutes: `make gpu`, which writes results/gpu/<card>.json and
<card>.rates.yaml.

Each check says what it compared, how far apart the two are, and how far apart they may be. With `--device cpu` all of
them run on toy sizes, which tests do; memory and rates of paper scale (`gpu_rates`) are measured on a GPU alone. The
rates are those of `report/rates.yaml`, for `bitextbench plan --rates results/gpu/<card>.rates.yaml`. A check that fails
with an error is a line of its own, and the others go on.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import click
import gpu_rates
import numpy as np
import yaml

from bitextbench import encoders, neighbours
from bitextbench.base.device import number_format, setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.encoders import trainer
from bitextbench.encoders.distributed import average, distributed
from bitextbench.encoders.encode import write_vectors
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import approximate

WORDS, VOCABULARY, PAIRS, BATCH = 400, 800, 512, 32
MODELS: dict[str, dict[str, Any]] = {
    "nmt_autoencoder": {"embedding": 64, "hidden": 64},
    "pivot_nmt": {"embedding": 64, "hidden": 64, "cell": "lstm"},
    "shared_seq2seq": {
        "embedding": 64,
        "hidden": 64,
        "decoder": 64,
        "language": 8,
        "autoencoding": True,
        "dropout": 0.0,
    },
    "dan_dual": {"words": WORDS, "embedding": 64, "layers": [64, 64], "confidence_dropout": 0.0},
    "transformer_dual": {"words": WORDS, "embedding": 64, "hidden": 64, "filters": 128, "heads": 4, "dimension": 64},
    "bow_autoencoder": {"hidden": 40},
    "descriptor_autoencoder": {"embedding": 32},
    "cross_encoder": {"hidden": 64, "layers": 2, "heads": 4, "filters": 128, "dropout": 0.0, "positions": 64},
}
ROLES = {"pivot_nmt": ("pivot_src", "pivot_tgt"), "cross_encoder": ("positives", "negatives")}
LOSSES = {"fp32": 2e-3, "bf16": 5e-2}  # relative distances of a curve of losses to that of the CPU in float32
MEMORY = 0.25  # of the peak of an update above that of `updates.tsv`, at most
Result = dict[str, Any]


def corpora(kind: str, model: encoders.Encoder) -> encoders.Corpora:
    """Toy sentences: a target is its source, each id exchanged for another."""
    rng = np.random.default_rng(1)
    rows = [rng.integers(4, WORDS, rng.integers(1, 20)).tolist() for _ in range(PAIRS)]
    texts = {"src": Ragged.of(rows), "tgt": Ragged.of(exchanged(rows))}
    return {
        role: {side: model.read(role, [texts[side]]) for side in model.sides} for role in ROLES.get(kind, ("bitext",))
    }


def exchanged(rows: list[list[int]]) -> list[list[int]]:
    return [[(i * 7) % (WORDS - 4) + 4 for i in row] for row in rows]


def spec_of(kind: str, precision: str, **more: Any) -> dict[str, Any]:
    training = {"batch": BATCH, "optimizer": "sgd", "learning_rate": 0.05, "precision": precision, "clip": 1.0}
    return {"type": kind, "model": MODELS[kind], "training": training | more}


def curve(
    kind: str, device: torch.device, precision: str, updates: int, waits: list[str] | None = None
) -> tuple[list[float], set[str]]:
    """The losses of a training, and the number formats of what it holds afterwards; `waits`: takes where the host waited
    for a GPU in the last update.
    """
    spec = spec_of(kind, precision)
    training = trainer.training_of(spec)
    torch.manual_seed(1)
    model = encoders.create(spec, VOCABULARY).to(device)
    optimizer = trainer.optimizer_of(spec, training, model, 1)
    streams = model.streams(corpora(kind, model), BATCH, 60, 1)
    dtype = number_format(precision, device)
    run, losses = trainer.Updates(model=model, optimizer=optimizer, training=training, device=device, dtype=dtype), []
    for number in range(updates):
        batches = {name: stream.batch(number) for name, stream in streams.items()}
        looking = device.type == "cuda" and waits is not None and number == updates - 1
        with gpu_rates.host_waits(waits) if looking else contextlib.nullcontext():
            found = trainer.step(run, batches, number)
        losses.append(sum(map(float, (found or {"": float("nan")}).values())))
    held = [*model.parameters(), *(p.grad for p in model.parameters() if p.grad is not None)]
    return losses, {str(tensor.dtype) for tensor in held}


def apart(one: Any, other: Any) -> float:
    """The largest distance of two curves, relative to the larger of their first values."""
    one, other = np.array(one), np.array(other)
    return float(np.abs(one - other).max() / max(abs(one[0]), abs(other[0]), 1e-9))


def trainings(device: torch.device, updates: int) -> Iterator[Result]:
    """Each encoder: the same losses on CPU and device in float32, nearly the same in bfloat16; states in float32."""
    cpu = torch.device("cpu")
    for kind in MODELS:
        right, _ = curve(kind, cpu, "fp32", updates)
        for precision, limit in LOSSES.items():
            waits: list[str] = []
            found, formats = curve(kind, device, precision, updates, waits)
            yield judged(f"{kind}, {precision}", apart(right, found), limit, formats == {"torch.float32"})
            yield judged(f"{kind}, {precision}: waits of the host in an update", len(waits), 0) | {"at": waits}


class Killed(Exception):
    """In place of a signal."""


def whole(device: torch.device, folder: Path) -> Iterator[Result]:
    """A whole training by `trainer.train`, from files: the dev score of the CPU's; and killed after its first checkpoint
    and run again, the losses of the one that was not.
    """
    rng = np.random.default_rng(1)
    rows = [rng.integers(4, WORDS, rng.integers(1, 20)).tolist() for _ in range(4 * PAIRS)]
    for name, part in (("bitext", rows[:-200]), ("valid", rows[-200:])):
        Ragged.of(part).save(folder / f"{name}.src")
        Ragged.of(exchanged(part)).save(folder / f"{name}.tgt")
    data = {name: [folder / name] for name in ("bitext", "valid")}
    more = {"optimizer": "adam", "learning_rate": 0.002, "updates": 300, "valid_every": 150, "checkpoint_every": 100}
    spec = spec_of("dan_dual", "fp32", log_every=50, **more) | {"model": MODELS["dan_dual"] | {"sparse": False}}
    found = {}
    for name, where in (("cpu", "cpu"), ("whole", str(device)), ("killed", str(device))):
        run: dict[str, Any] = {"seed": 1, "device": where}
        place = (VOCABULARY, data, folder / name / "model.pt", folder / name / "checkpoints")
        if name == "killed":
            save = trainer.Checkpoint.save

            def then_killed(*given: Any, save: Callable[..., None] = save) -> None:
                save(*given)
                raise Killed

            try:
                with mock.patch.object(trainer.Checkpoint, "save", then_killed):
                    trainer.train(spec, *place, **run)
            except Killed:
                pass
        found[name] = trainer.train(spec, *place, **run)["valid"]
        lines = (folder / name / "curve.csv").read_text(encoding="utf-8").splitlines()[1:]
        found[f"{name} losses"] = [float(line.split(",")[2]) for line in lines]
    yield judged("a training, dev score", abs(found["cpu"] - found["whole"]), 0.05) | found
    yield judged("a training, losses", apart(found["cpu losses"], found["whole losses"]), 1e-2)
    yield judged("a killed training, losses", apart(found["whole losses"], found["killed losses"]), 1e-4)


def two_processes(device: torch.device, folder: Path) -> Iterator[Result]:
    """The mean gradients of two processes on one device, by gloo, against those of one with both batches."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__]
    out = folder / "two.json"
    variables = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*command, "--worker", "--device", str(device), "-o", str(out)], check=True, timeout=300, env=variables
    )
    yield judged("gradients of two processes", apart(gradients(device, [0, 1]), json.loads(out.read_text())), 1e-4)


def gradients(device: torch.device, numbers: list[int]) -> list[float]:
    """The norms of the gradients of pivot_nmt, the mean over some batches."""
    torch.manual_seed(1)
    model = encoders.create({"type": "pivot_nmt", "model": MODELS["pivot_nmt"]}, VOCABULARY).to(device)
    streams = model.streams(corpora("pivot_nmt", model), BATCH // 2, 60, 1)
    for number in numbers:
        batches = {name: tuple(c.on(device) for c in stream.batch(number)) for name, stream in streams.items()}
        losses = model.loss(batches)
        (torch.stack([*losses.values()]).sum() / len(numbers)).backward()
    if distributed.is_initialized():
        average(model, losses, distributed.get_world_size())
    return [float(parameter.grad.norm()) for parameter in model.parameters()]


def searches(device: torch.device, n: int) -> Iterator[Result]:
    """The exact search in each number format and by faiss against the CPU's bytes; an index on the device, its recall."""
    rng = np.random.default_rng(1)
    base = rng.standard_normal((n, 64), np.float32)
    src, tgt = Embeddings(base), Embeddings(base + 0.3 * rng.standard_normal((n, 64), np.float32))
    right = neighbours.search(src, tgt, 4, threads=gpu_rates.THREADS)
    for backend, precision in (("torch", "fp32"), ("torch", "bf16"), ("faiss", "fp32")):
        try:
            found = neighbours.search(src, tgt, 4, backend=backend, precision=precision, device=str(device))
            wrong = sum(
                one.ids.tobytes() != other.ids.tobytes() or one.similarities.tobytes() != other.similarities.tobytes()
                for one, other in zip(right, found, strict=True)
            )
            yield judged(f"search, {backend}, {precision}", wrong, 0)
        except InputError as error:  # faiss-cpu is installed
            yield judged(f"search, {backend}, {precision}: {error}", 1, 0)
    index, _ = approximate.search(src, tgt, 4, "IVF64,Flat", device=str(device))
    hits = (index.forward.ids[:, 0] == right.forward.ids[:, 0]).mean()
    yield judged("search by an index, lost", 1 - float(hits), 0.1)


def encoding(device: torch.device) -> Iterator[Result]:
    """Vectors of each encoder against the CPU's, in float32 and, where models may be narrow, in bfloat16."""
    for kind in (name for name in MODELS if name != "cross_encoder"):
        torch.manual_seed(1)
        model = encoders.create({"type": kind, "model": MODELS[kind]}, VOCABULARY)
        (sides,) = [*corpora(kind, model).values()][:1]
        vectors = []
        for where, dtype in ((torch.device("cpu"), torch.float32), (device, torch.float32), (device, torch.bfloat16)):
            if dtype == torch.bfloat16 and not model.narrow:
                continue
            made = np.zeros((PAIRS, model.dimension), np.float32)
            model.to(where, dtype)
            for _ in write_vectors(model, sides["src"], "src", made, 2048, where, dtype):
                pass
            vectors.append(made / np.linalg.norm(made, axis=1, keepdims=True))
        for name, found, limit in zip(("fp32", "bf16"), vectors[1:], (1e-3, 5e-2), strict=False):
            yield judged(f"encode, {kind}, {name}", float(np.abs(vectors[0] - found).max()), limit)
        if len(vectors) == 3:  # the same selection: each sentence's nearest among the others
            nearest = [(part @ part.T - 9 * np.eye(PAIRS)).argmax(1) for part in vectors[1:]]
            yield judged(f"encode, {kind}, other nearest in bf16", float((nearest[0] != nearest[1]).mean()), 0.05)


def translation(device: torch.device, folder: Path) -> Iterator[Result]:
    """fairseq trains a small Transformer on the device and translates with it."""
    from bitextbench.nmt import fairseq_shim

    from bitextbench.nmt.train import device_options  # isort: skip

    rng = np.random.default_rng(1)
    rows = [" ".join(f"w{i}" for i in rng.integers(0, 40, rng.integers(2, 8))) for _ in range(400)]
    for side in ("de", "en"):
        (folder / f"t.{side}").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    pair = ["--source-lang", "de", "--target-lang", "en"]
    shared = ["--trainpref", str(folder / "t"), "--validpref", str(folder / "t"), "--destdir", str(folder / "bin")]
    fairseq_shim.run("preprocess", [*pair, *shared, "--joined-dictionary", "--workers", "1"])
    size = ["--encoder-layers", "1", "--decoder-layers", "1", "--encoder-embed-dim", "32", "--decoder-embed-dim", "32"]
    more = ["--optimizer", "adam", "--lr", "0.01", "--max-tokens", "800", "--max-update", "40", "--no-progress-bar"]
    options = [*device_options(device.type, 1), "--save-dir", str(folder / "kept"), "--arch", "transformer"]
    fairseq_shim.run("train", [str(folder / "bin"), *options, *size, *more])
    model = str(folder / "kept" / "checkpoint_last.pt")
    generate = [
        *device_options(device.type, 1),
        "--path",
        model,
        "--results-path",
        str(folder),
        "--gen-subset",
        "valid",
    ]
    fairseq_shim.run("generate", [str(folder / "bin"), *generate, "--max-tokens", "800", "--beam", "2"])
    lines = (folder / "generate-valid.txt").read_text(encoding="utf-8").count("\nH-")
    yield judged("fairseq: sentences without a translation", len(rows) - lines, 1)


def rates_of_paper_scale(device: torch.device, config: Path) -> Iterator[Result]:
    """What `gpu_rates.measured` finds, and whether memory and waits are as `updates.tsv` has them."""
    for line in gpu_rates.measured(device, config):
        yield line
        if "error" in line:
            yield judged(f"{line['what']}: {line['error']}", 1, 0)
        if "gib" in line:
            what = f"{line['what']}: memory above the {line['table_gib']} GiB of the table"
            yield judged(what, line["gib"] / max(line["table_gib"], 1) - 1, MEMORY)
            yield judged(f"{line['what']}: waits of the host", len(line["waits"]), 0) | {"at": line["waits"]}


def judged(what: str, distance: float, limit: float, also: bool = True) -> Result:
    """A line of the report."""
    return {
        "what": what,
        "distance": float(f"{distance:.3g}"),
        "limit": limit,
        "holds": bool(distance <= limit and also),
    }


def rates(lines: list[Result]) -> dict[str, Any]:
    """What was measured, as `report/rates.yaml` has it.

    Of each kind of model: the seconds of the fastest update, and the largest share of the rate, if the update that
    reached it took at least twice as long. Else the starts of kernels take the time, and nobody knows the share.
    """
    update: dict[str, float] = {}
    shares: dict[str, float] = {}
    for kind in {line["kind"] for line in lines if "kind" in line}:
        alike = [line for line in lines if line.get("kind") == kind]
        most = max(alike, key=lambda line: line["share"])
        update[kind] = float(f"{min(line['seconds'] for line in alike):.3g}")
        if most["seconds"] > 2 * update[kind]:
            shares[kind] = round(most["share"], 4)
    for line in lines:
        if re.match("search of .* bf16$", line["what"]) and "share" in line:
            shares["search"] = round(line["tops_share"], 4)
        if line["what"] == "fairseq, base":
            update["fairseq"] = float(f"{1 / line['updates']:.3g}")
    (rate,) = [line["rate"] for line in lines if "rate" in line][:1]
    return {"gpu": {"flops": float(f"{rate:.3g}"), "shares": shares, "update": update}}


def said(line: Result) -> str:
    """A line for a terminal."""
    if "holds" in line:
        places = f" ({', '.join(line['at'])})" if line.get("at") else ""
        return f"{'holds' if line['holds'] else 'FAILS'}  {line['what']}: {line['distance']} of {line['limit']}{places}"
    more = (f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in line.items())
    return f"       {line['what']}: {', '.join(part for part in more if not part.startswith('what '))}"


@click.command(context_settings={"show_default": True})
@click.option("--device", default="cuda", help="cpu: all but memory and rates.")
@click.option("--updates", default=50, help="Of each training.")
@click.option("--vectors", default=100_000, help="Of each side of a search.")
@click.option("--config", type=click.Path(path_type=Path), default=Path("config.yaml"))
@click.option("--only", multiple=True, help="Of the groups of checks, by name.")
@click.option("--worker", is_flag=True, hidden=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("results/gpu"), help="A folder.")
def main(device: str, updates: int, vectors: int, config: Path, only: tuple[str, ...], worker: bool, out: Path) -> None:
    where = setup(1, device)
    if worker:
        distributed.init_process_group("gloo")
        found = gradients(where, [distributed.get_rank()])
        if distributed.get_rank() == 0:
            write_json(out, found)
        distributed.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        groups: dict[str, Callable[[], Iterator[Result]]] = {
            "trainings": lambda: trainings(where, updates),
            "processes": lambda: two_processes(where, folder),
            "whole": lambda: whole(where, folder),
            "searches": lambda: searches(where, vectors),
            "encoding": lambda: encoding(where),
            "translation": lambda: translation(where, folder),
        }
        if where.type == "cuda":
            groups |= {
                "rates": lambda: rates_of_paper_scale(where, config),
                "encoders": lambda: gpu_rates.encoding(where, config),
                "search_rates": lambda: gpu_rates.searching(where),
                "box": lambda: gpu_rates.in_the_box(where),
                "fairseq": lambda: gpu_rates.translating(where, config, folder / "rates"),
            }
        lines: list[Result] = []
        for name, group in groups.items():
            for line in lines_of(name, group) if not only or name in only else ():
                lines.append(line)
                write(out, where, lines)
    if failed := [line["what"] for line in lines if not line.get("holds", True)]:
        raise SystemExit(f"{len(failed)} of {len(lines)} fail: {'; '.join(failed)}")


def lines_of(name: str, group: Callable[[], Iterator[Result]]) -> Iterator[Result]:
    """The lines of a group, each said as it comes; an error is one that does not hold."""
    try:
        for line in group():
            click.echo(said(line))
            yield line
    except Exception as error:
        click.echo(traceback.format_exc(), err=True)
        line = judged(f"{name}: {type(error).__name__} {str(error)[:300]}", 1, 0)
        click.echo(said(line))
        yield line


def write(out: Path, device: torch.device, lines: list[Result]) -> None:
    """<card>.json, and <card>.rates.yaml where rates were measured."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    out.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"\W+", "-", card).strip("-").lower()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda}
    write_json(out / f"{stem}.json", {"card": card, **versions, "checks": lines})
    if any("kind" in line for line in lines):
        (out / f"{stem}.rates.yaml").write_text(yaml.safe_dump(rates(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
