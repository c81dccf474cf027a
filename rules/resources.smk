# What rules need: memory by the true size of what they read, time by the work that is known, GPUs by the configuration

from bitextbench.base.files import size
from bitextbench.report import plan
from bitextbench.workflow import minutes

COSTS = plan.Costs(config, plan.rates())
LONGEST = minutes(config.get("max_runtime", 0))  # that a job may ask for; 0: as long as it needs
GROUPED = {"tokens": 4, "ids": 16, "encoding": 8, "score": 16}  # jobs that go into the queue as one: profiles/slurm


def retries(number):
    """Retries, left to the process that submits: within a Slurm job one would get no new node and no more memory."""
    return number if workflow.is_main_process else 0


def limited(time, jobs=1):
    """A time limit in minutes, cut to the longest that may be asked for `jobs` jobs in turn."""
    return min(time, LONGEST // jobs) if LONGEST else time


def hours(number):
    """The time limit of a rule, in minutes."""
    return limited(60 * number)


def one_attempt(rule):
    """The time limit of an attempt of a rule that keeps a checkpoint, in minutes."""
    return hours(plan.KEPT[rule][0])


def resumed(rule):
    """Retries where a checkpoint is kept: all attempts together have the time of `plan.KEPT`, however short each is."""
    return retries(plan.attempts(rule, LONGEST) - 1)


def more(attempt):
    """By how much more a later attempt asks for; one that goes on from a checkpoint may have many."""
    return min(attempt, 3)


def megabytes(factor, least, of=lambda wildcards, input: input):
    """Memory in MB: `factor` times the size of the inputs (or of those `of` them), folders with all that they hold; at least `least`."""

    def memory(wildcards, input, attempt):
        size(input)  # of inputs that are not there yet nothing is known
        read = of(wildcards, input)
        return int(max(least, factor * size([read] if isinstance(read, str) else read) / 1e6)) * more(attempt)

    return memory


def training_megabytes(wildcards, input, attempt):
    """Memory of training an encoder, in MB."""
    return megabytes(4, 3000)(wildcards, input, attempt) + files.table_megabytes(wildcards.encoder) * more(attempt)


def shard_of(wildcards, input):
    """What a job on a shard reads: the inputs, and of the corpus that shard alone."""
    others = (path for path in input if path != input.corpus)
    return [f"{input.corpus}/{wildcards.shard}.parquet", *others]


def expected(rule, gpus=lambda wildcards: 0):
    """The time limit of a rule whose work is known beforehand, in minutes, more at each attempt."""

    def runtime(wildcards, input, attempt, threads):
        return limited(COSTS.minutes(rule, wildcards, input, gpus(wildcards), threads) * attempt, GROUPED.get(rule, 1))

    return runtime


def encoder_gpus(wildcards):
    return config["encoders"][wildcards.encoder]["gpus"]


def allocated(wildcards, resources):
    """The GPUs that a job was given. A parameter that follows from resources starts nothing anew when it changes."""
    return resources.gpu
