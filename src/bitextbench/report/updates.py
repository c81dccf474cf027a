"""What an update of each encoder of paper scale costs a GPU, `updates.tsv`, and a block of a search: by `encoders.costs`."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bitextbench.base.outputs import atomic
from bitextbench.config import Config
from bitextbench.formats import records
from bitextbench.report import amounts

PAIRS = 2_900_000  # of zhang2016, whose L-BFGS takes all of them at once
LIMIT = 70  # GiB, of the 80 of a GPU: libraries and fragments take some
SEARCHES = (  # the largest of each kind: sentences a side, dimension, neighbours, in both directions
    ("hard negatives of transformer_bide.en-fr, a direction", 21_371_161, 500, 9, False),
    ("reconstruction of un.en-fr", 11_300_000, 500, 20, True),
    ("margins of a batch of the pool", 5_000_000, 1024, 4, True),
)
MARKS = "<!-- {}: written by `bitextbench step updates` -->", "<!-- end of {} -->"


class Update(NamedTuple):
    """A line: sentences and tokens that are encoded, GiB at the peak, floating-point operations, in thousands of
    millions, and the share of matrix products that are in float32.
    """

    encoder: str
    sentences: int
    tokens: int
    gib: float
    gflop: float
    float32: float

    def hours(self, spec: Mapping[str, Any], share: str, gpu: Mapping[str, Any]) -> float:
        """Of the training on one GPU, at the rates of `rates.yaml`."""
        updates = spec["training"]["updates"]
        return amounts.gpu_seconds(gpu, share, 1e9 * self.gflop * updates, updates) / 3600


def of(name: str, config: Config, spec: dict[str, Any]) -> Update:
    """The line of an encoder or rescorer of this configuration."""
    from bitextbench.encoders import costs

    model, vocabulary = amounts.sized(config, spec)
    found = costs.cost({**spec, "model": model}, vocabulary, PAIRS)
    narrow = found.formats.get("bfloat16", 0)
    wide = found.formats.get("float32", 0)
    share = round(wide / (narrow + wide), 2)
    return Update(name, found.sentences, found.tokens, round(found.peak / 2**30, 1), round(found.flops / 1e9, 1), share)


def distinct(config: Config) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """One encoder or rescorer of each size, and the names of all that have this size."""
    alike: dict[str, list[str]] = {}
    specs = {
        name: spec
        for name, spec in (config["encoders"] | config.get("rescorers", {})).items()
        if "training" in spec and spec["gpus"]
    }
    for name, spec in specs.items():
        hard, training = spec.get("hard", {}).get("count"), spec["training"]
        sizes = [training[key] for key in ("batch", "max_tokens", "optimizer", "precision")]
        model, vocabulary = amounts.sized(config, spec)
        if spec["type"] == "descriptor_autoencoder":
            model.pop("direction")  # what is read and what is rebuilt are of one size
        model.pop("margin", None)
        key = json.dumps([spec["type"], hard, sizes, model, vocabulary], sort_keys=True)
        alike.setdefault(key, []).append(name)
    yield from ((names[0], specs[names[0]], names) for names in alike.values())


def write(lines: list[Update], path: Path) -> None:
    """Write the table, tab-separated, atomically."""
    records.write(path, Update, lines)


@cache
def table() -> dict[str, Update]:
    """The lines of `updates.tsv`, by encoder."""
    path = Path(__file__).with_name("updates.tsv")
    return {line.encoder: line for line in records.read(path, Update, "a table of updates")}


def page(config: Config, gpu: Mapping[str, Any], share: Any) -> str:
    """The table in Markdown, of one encoder of each size; `share`: the kind of products of an encoder's type."""
    lines = [
        "| encoder | others of its size | sentences | tokens | peak GiB | GFLOP | products in fp32 | hours | host waits |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, spec, names in distinct(config):
        line = table()[name]
        hours = f"{line.hours(spec, share(spec['type']), gpu):,.0f}"
        waits = "each evaluation" if spec["training"]["optimizer"] == "lbfgs" else "0"
        numbers = f"{line.sentences:,} | {line.tokens:,} | {line.gib} | {line.gflop:,.1f} | {line.float32:.0%}"
        lines.append(f"| {name} | {len(names) - 1} | {numbers} | {hours} | {waits} |")
    return "\n".join(lines)


def searches(gpu: Mapping[str, Any]) -> str:
    """The table of SEARCHES in Markdown. Takes minutes."""
    from bitextbench.encoders import costs

    lines = [
        "| search | sentences a side | dimension | neighbours | rows of a block | peak GiB | PFLOP | minutes | host waits |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, sentences, dimension, k, both in SEARCHES:
        rows, peak = costs.search_peak(sentences, dimension, k, both)
        flops = 2 * sentences**2 * dimension
        minutes = amounts.gpu_seconds(gpu, "search", flops) / 60
        numbers = f"{sentences:,} | {dimension:,} | {k} | {rows:,} | {peak / 2**30:.1f} | {flops / 1e15:,.0f}"
        lines.append(f"| {name} | {numbers} | {minutes:.1f} | at the end of a block |")
    return "\n".join(lines)


def fill(path: Path, name: str, text: str) -> None:
    """Put a text between the MARKS of this name in a page."""
    first, last = (mark.format(name) for mark in MARKS)
    before, _, rest = path.read_text(encoding="utf-8").partition(first)
    with atomic(path) as part:
        part.write_text(f"{before}{first}\n{text}\n{last}{rest.partition(last)[2]}", encoding="utf-8")
