"""Costs of the jobs of a plan: core and GPU hours, memory, disk and transfer, by rule.

The jobs are those of `snakemake -n`, as our logger plugin writes them; their inputs and outputs make
the graph. The time of a job is its amount of work
(`report.amounts`: pairs by the registry, FLOPs by arithmetic) divided by a rate of `rates.yaml`. A data set without a
count is assumed to have one pair per BYTES of its download, or UNCOUNTED pairs if the size is unknown as well; a file
of unknown size is assumed to have UNSIZED bytes.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_yaml
from bitextbench.base.lines import read_lines
from bitextbench.config import Config
from bitextbench.config.encoders import hard_directions
from bitextbench.config.overlays import laid_over
from bitextbench.data import registry
from bitextbench.report import amounts, updates

if TYPE_CHECKING:
    from pandas import DataFrame

HOUR = 3600
UNCOUNTED, BYTES, UNSIZED = 3_000_000, 100, 3_000_000_000
SLACK, SHORTEST = 4, HOUR / 2  # of time limits, over what is expected
KEPT = {
    "skip_gram": (96, 3),
    "train_encoder": (72, 8),
    "train_rescorer": (24, 3),
    "nmt_train": (72, 3),
    "translation_train": (72, 3),
    "likelihood_train": (72, 3),
}  # go on from checkpoints: hours of an attempt, attempts; of shorter ones there are more, with the same time together
SEARCHES = ("reconstruction", "documents", "mining", "mine_corpus", "rescoring_pairs", "neighbourhoods", "hard_negatives", "separation", "mined_examples", "alignment")  # fmt: skip
RECURRENT = ("nmt_autoencoder", "pivot_nmt", "shared_seq2seq")
COLUMNS = {
    "jobs": "size", "submissions": "nunique", "core hours": "sum", "GPU hours": "sum", "longest hours": "max",
    "MB of memory": "max", "GiB of GPU": "max", "GB of disk": "sum", "GB of transfer": "sum",
}  # of the table of costs, and how those of a rule's jobs become one  # fmt: skip


@dataclass(frozen=True, eq=False)
class Job:
    """A job of a plan; `group`: the number of its submission; `limit`: its time limit in seconds; `memory` in MB."""

    rule: str
    wildcards: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    gpus: int
    cores: int
    memory: int  # MB, 0 where it depends on what is not there yet
    limit: float
    group: int
    resources: Mapping[str, Any] = field(default_factory=dict)  # all, as Snakemake has them


class JobCost(NamedTuple):
    """The cost of a job: seconds on its cores and GPUs, MB of disk that its outputs take, MB that it downloads."""

    seconds: float
    disk: float = 0
    transfer: float = 0


def attempts(rule: str, longest: int) -> int:
    """The attempts of a job of KEPT, none of which may ask for more than `longest` minutes (0: as long as it needs)."""
    minutes = 60 * KEPT[rule][0]
    return ceil(60 * prod(KEPT[rule]) / min(minutes, longest or minutes))


def share(kind: str) -> str:
    """The kind of products of a type of encoder: the key of `shares` in `rates.yaml`."""
    return "recurrent" if kind in RECURRENT else "bag" if kind.startswith(("dan", "bow", "desc")) else "transformer"


def rates(path: Path | None = None) -> Config:
    """The rates of `rates.yaml`, overlaid with those of a file. Raises InputError for a key that `rates.yaml` lacks."""
    shipped = read_yaml(str(files("bitextbench.report").joinpath("rates.yaml")))
    mine = read_yaml(path) if path else {}
    if not isinstance(mine, dict) or (unknown := _unknown(mine, shipped)):
        raise InputError(
            f"unknown rate {unknown if isinstance(mine, dict) else mine!r}", path or "", remedy="see report/rates.yaml"
        )
    return laid_over(shipped, mine)


def _unknown(mine: Mapping[str, Any], shipped: Mapping[str, Any]) -> str:
    """The first key of `mine` that is not in `shipped`, or ""."""
    for key, value in mine.items():
        if key not in shipped:
            return str(key)
        if isinstance(value, dict) and (
            unknown := _unknown(value, shipped[key] if isinstance(shipped[key], dict) else {})
        ):
            return f"{key}.{unknown}"
    return ""


def read(path: Path) -> list[Job]:
    """The jobs of a file of the logger plugin `snakemake_logger_plugin_bitextbench`. Raises InputError if there are none."""
    jobs = [_job(json.loads(line)) for line in read_lines(path)]
    if not jobs:
        raise InputError("no jobs in this plan", remedy="is all of it made already? add --forceall")
    return jobs


def _job(said: Mapping[str, Any]) -> Job:
    needs = said["resources"]
    number = {name: value for name, value in needs.items() if isinstance(value, int)}  # others: what is not known yet
    return Job(
        said["rule_name"],
        said["wildcards"],
        tuple(said["input"]),
        tuple(said["output"]),
        number.get("gpu", 0),
        said["threads"],
        number.get("mem_mb", 0),
        60 * number["runtime"] if "runtime" in number else float("inf"),
        said["submission"],
        needs,
    )


class Costs:
    """The costs of the jobs of a configuration at given rates."""

    def __init__(self, config: Config, rates: Config) -> None:
        self.config, self.rates = config, rates
        self.met = cache(self._met)
        core = rates["core"]
        self.of: dict[str, Callable[[Job], JobCost]] = {
            "fetch": self._fetch,
            "encode": self._encode,
            "train_encoder": self._train_encoder,
            "train_rescorer": self._train_rescorer,
            "translation_train": self._translation_train,
            "nmt_train": lambda job: self._fairseq(config["nmt"]),
            "likelihood_train": self._likelihood_train,
            **dict.fromkeys(SEARCHES, self._search),
            "tokens": lambda job: self._shard(job, core["tokens"], "tokens"),
            "ids": lambda job: self._shard(job, core["ids"], self._kind(job)),
            "score": lambda job: self._shard(job, core["score"], "scores"),
            "corpus": lambda job: self._shard(job, core["corpus"], "corpus"),
            "likelihoods": self._likelihoods,
            "skip_gram": self._skip_gram,
            "encoding": self._encoding,
            **dict.fromkeys(("size", "table2"), lambda job: JobCost(0)),  # of counts
        }

    def __call__(self, job: Job) -> JobCost:
        cost = self.of.get(job.rule, self._other)(job)
        return cost._replace(seconds=cost.seconds + self.rates["machine"]["start"])

    def pairs(self, corpus: str) -> int:
        """The number of pairs of a corpus before filters; estimated for data sets without a count."""
        count = amounts.rows(self.config, [corpus])
        return count.known + sum(map(_guessed, count.uncounted))

    def minutes(self, rule: str, wildcards: Mapping[str, str], inputs: Iterable[str], gpus: int, cores: int) -> int:
        """The time limit of a job: SLACK times what it is expected to take, in half hours."""
        job = Job(rule, dict(wildcards), tuple(inputs), (), gpus, cores, 0, 0, 0)
        return 30 * ceil(max(SHORTEST, SLACK * self(job).seconds) / 1800)

    def _shard(self, job: Job, rate: float, what: str) -> JobCost:
        """The cost of reading one shard, or a whole corpus if the job has no shard, at `rate` pairs per second."""
        pairs = self._pairs(job)
        return JobCost(pairs / rate, pairs * self.rates["bytes"][what] / 1e6)

    def _pairs(self, job: Job) -> float:
        """The number of pairs of a shard, or of a whole corpus if the job has no shard."""
        corpus = job.wildcards["corpus"]
        shards = self.config["corpora"][corpus].get("shards", 1) if "shard" in job.wildcards else 1
        return self.pairs(corpus) / shards

    def _kind(self, job: Job) -> str:
        return "ngrams" if self.config["text"]["features"][job.wildcards["features"]]["type"] == "ngrams" else "ids"

    def _fetch(self, job: Job) -> JobCost:
        size = sum(file.bytes or UNSIZED for file in registry.entry(job.wildcards["dataset"]).files) / 1e6
        return JobCost(size / self.rates["machine"]["network"], size, size)

    def _flops(self, flops: float, share: str, updates: int = 0, gpus: int = 1) -> JobCost:
        return JobCost(amounts.gpu_seconds(self.rates["gpu"], share, flops / gpus, updates))

    def _products(self, job: Job, flops: float, share: str) -> JobCost:
        """The cost of products without an update: on the job's GPUs, or else on its cores."""
        cores = JobCost(flops / job.cores / self.rates["machine"]["core_flops"])
        return self._flops(flops, share) if job.gpus else cores

    def _met(self, encoder: str) -> float:
        """The multiplications in an update of an encoder's training."""
        return amounts.training(self.config, f"encoders.{encoder}").met()

    def _share(self, encoder: str) -> str:
        return share(self.config["encoders"][encoder]["type"])

    def _train_encoder(self, job: Job) -> JobCost:
        name = job.wildcards["encoder"]
        updates = self.config["encoders"][name]["training"]["updates"]
        return self._flops(6 * self.met(name) * updates, self._share(name), updates, max(1, job.gpus))

    def _translation_train(self, job: Job) -> JobCost:
        name = "translations.{name}.{source}-{target}".format(**job.wildcards)
        return self._flops(amounts.training(self.config, name).flops(), "transformer")

    def _train_rescorer(self, job: Job) -> JobCost:
        entry = self.config["rescorers"][job.wildcards["rescorer"]]
        size, training = entry["model"], entry["training"]
        network = size["layers"] * (4 * size["hidden"] ** 2 + 2 * size["hidden"] * size["filters"])
        tokens = training["batch"] * 2 * amounts.TOKENS
        return self._flops(6 * network * tokens * training["updates"], "transformer", training["updates"])

    def _encode(self, job: Job) -> JobCost:
        name, pairs = job.wildcards["encoder"], self._pairs(job)
        entry = self.config["encoders"][name]
        forward = 2 * self.met(name) * pairs / entry["training"]["batch"]  # no decoder runs: at most
        numbers = 2 * _dimension(entry) * self.rates["bytes"]["float"]
        return self._products(job, forward, self._share(name))._replace(disk=pairs * numbers / 1e6)

    def _encoding(self, job: Job) -> JobCost:
        """The cost of encoding by the slowest encoder, for a time limit: products are counted with torch, which takes seconds."""
        speed = self.rates["gpu"]["encode"] if job.gpus else self.rates["core"]["encode"] * job.cores
        return self._shard(job, speed, "corpus")

    def _fairseq(self, size: Mapping[str, Any]) -> JobCost:
        batches = size["update_freq"] * size["max_updates"]
        tokens = size["max_tokens"] * batches
        if "hidden_dim" in size:  # a language model of LSTMs
            width, inner = size["embed_dim"], size["hidden_dim"]
            network = 4 * inner * (width + inner) + (size["layers"] - 1) * 8 * inner**2 + inner * self._vocabulary()
            return self._flops(6 * network * tokens, "recurrent", batches)
        return self._flops(6 * amounts.transformer(size, self._vocabulary(size)) * tokens, "fairseq", batches)

    def _vocabulary(self, size: Mapping[str, Any] | None = None) -> int:
        return (size or {}).get("vocab_size") or self.config["text"]["features"]["joint"]["vocab"]

    def _likelihood_train(self, job: Job) -> JobCost:
        entry = self.config["likelihoods"][job.wildcards["likelihoods"]]
        return self._fairseq(entry["translation" if job.wildcards["model"] in ("forward", "backward") else "language"])

    def _likelihoods(self, job: Job) -> JobCost:
        entry = self.config["likelihoods"][job.wildcards["likelihoods"]]
        network = amounts.transformer(entry["translation"], self._vocabulary())
        return self._products(
            job, 4 * 2 * network * self._pairs(job) * amounts.TOKENS, "transformer"
        )  # four of about one size

    def _skip_gram(self, job: Job) -> JobCost:
        entry = self.config["word_vectors"][job.wildcards["vectors"]]
        pairs = sum(map(self.pairs, entry["corpora"][job.wildcards["side"]]))
        return JobCost(pairs * amounts.TOKENS * entry["skip_gram"].get("epochs", 5) / self.rates["core"]["skip_gram"])

    def _search(self, job: Job) -> JobCost:
        """The cost of comparing each sentence of one side with each of the other."""
        vectors = [path.split("/")[-3:] for path in job.inputs if "/vectors/" in path]
        if not vectors:
            return self._other(job)
        encoder, corpus, _ = vectors[0]
        flops = 2 * self.pairs(corpus) ** 2 * _dimension(self.config["encoders"][encoder])
        if job.rule == "hard_negatives":  # of some of the pairs, and a search for each direction
            name = job.wildcards["encoder"]
            both = hard_directions(self.config, name) == "both"
            flops *= self.config["encoders"][name]["hard"].get("share", 0.2) * (2 if both else 1)
        return self._products(job, flops, "search")

    def _other(self, job: Job) -> JobCost:
        """The cost of reading, once, each corpus that the inputs belong to."""
        text = [path.split("/") for path in job.inputs if not path.startswith(("results/", "references/"))]
        names = {part for path in text if "metrics" not in path for part in path if part in self.config["corpora"]}
        return JobCost(sum(map(self.pairs, names)) / self.rates["core"]["others"])


def _guessed(data_set: str) -> int:
    """The estimated number of pairs of a data set without a count, or of the user's own text."""
    size = sum(file.bytes or 0 for file in registry.load()[data_set].files) if data_set in registry.load() else 0
    return size // BYTES or UNCOUNTED


def _dimension(entry: Mapping[str, Any]) -> int:
    """The dimension of an encoder's vectors; of a published one 1,024, as the largest have."""
    model = entry.get("model", {})
    if isinstance(layers := model.get("layers"), list):
        return layers[-1]
    return model.get("dimension") or 2 * model.get("hidden", 512)  # of both directions


def by_rule(jobs: Sequence[Job], costs: Mapping[Job, JobCost]) -> "DataFrame":
    """The costs of each rule, most expensive first, and of all: a column `rule`, and those of COLUMNS."""
    import pandas

    held = pandas.DataFrame(
        {
            "rule": job.rule,
            "jobs": job.group,
            "submissions": job.group,
            "core hours": job.cores * costs[job].seconds / HOUR,
            "GPU hours": job.gpus * costs[job].seconds / HOUR,
            "longest hours": costs[job].seconds / HOUR,
            "MB of memory": job.memory,
            "GiB of GPU": gpu_memory(job),
            "GB of disk": costs[job].disk / 1e3,
            "GB of transfer": costs[job].transfer / 1e3,
        }
        for job in jobs
    )
    rules, whole = (
        frame.groupby("rule")
        .agg(COLUMNS)
        .round({name: 2 if how == "max" else 1 for name, how in COLUMNS.items()})
        .reset_index()
        for frame in (held, held.assign(rule="all"))
    )
    rules = rules.sort_values(["GPU hours", "core hours", "rule"], ascending=[False, False, True])
    return pandas.concat([rules, whole], ignore_index=True)


def gpu_memory(job: Job) -> float:
    """GiB of a GPU that a training takes, by `updates.tsv`; 0 of other jobs, which take what there is."""
    name = job.wildcards.get("encoder", job.wildcards.get("rescorer", ""))
    found = updates.table().get(name) if job.gpus and job.rule.startswith("train_") else None
    return found.gib if found else 0
