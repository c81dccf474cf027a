"""Commands of the four models that `score --likelihoods` combines: data, training, log-probabilities; part of `cli`."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from bitextbench.cli.options import FILE, Mapping, Spec
from bitextbench.formats.likelihoods import MODELS


@click.command("likelihood-data")
@click.option(
    "--corpus",
    "corpora",
    type=Mapping("ROLE=STEM"),
    multiple=True,
    required=True,
    help="An id shard, without .src and .tgt, of: bitext, mono, valid.",
)
@click.option("--bpe", type=FILE, required=True, help="The BPE model of the ids.")
@click.option("--max-length", type=int, required=True, help="Pieces of the longest sentence.")
@click.option("-o", "--out", type=FILE, required=True)
def likelihood_data(corpora: tuple[tuple[str, Path], ...], bpe: Path, max_length: int, out: Path) -> None:
    """Make fairseq's data of id shards, for translation and for two language models."""
    from bitextbench.cli.encoders import text_model
    from bitextbench.nmt.ids import prepare

    stems = defaultdict(list)
    for role, stem in corpora:
        stems[role].append(stem)
    prepare(stems, text_model(bpe, {})[1], max_length, out)


@click.command("likelihood-train")
@click.argument("name", type=click.Choice(MODELS))
@click.argument("data", type=FILE)
@click.option("--spec", type=Spec(), required=True, help="Sizes and schedule of this model.")
@click.option("--max-length", type=int, required=True, help="Pieces of the longest sentence, as of the data.")
@click.option("--seed", type=int, default=1)
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("--checkpoints", type=FILE, required=True, help="Folder of checkpoints; kept when the job fails.")
@click.option("-o", "--out", type=FILE, required=True)
def likelihood_train(
    name: str, data: Path, spec: dict[str, Any], max_length: int, seed: int, gpus: int, threads: int, checkpoints: Path,
    out: Path,
) -> None:  # fmt: skip
    """Train one of four fairseq models, from its last checkpoint on: translation forward, backward, LM of src, of tgt."""
    from bitextbench.nmt.likelihood_models import train

    device = "gpu" if gpus else "cpu"
    train(name, data, spec, max_length, seed, out, checkpoints, device=device, threads=threads)


@click.command()
@click.argument("ids", type=FILE)
@click.option("--model", "models", type=Mapping(), multiple=True, required=True, help=f"Each of {', '.join(MODELS)}.")
@click.option("--batch-tokens", type=int, default=8192, help="Tokens of a batch; results do not depend on it.")
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("-o", "--out", type=FILE, required=True)
def likelihoods(ids: Path, models: tuple[tuple[str, Path], ...], batch_tokens: int, gpus: int, out: Path) -> None:
    """Log-probabilities of the pairs of an id shard (named without .src and .tgt) under the four models; writes a .npz."""
    from bitextbench.nmt.likelihood_models import score

    score(ids, dict(models), out, batch_tokens=batch_tokens, device="cuda" if gpus else "cpu")


@click.command("posteriors")
@click.argument("ids", type=FILE, nargs=-1, required=True)
@click.option("--model", "models", type=Mapping(), multiple=True, required=True, help="forward and backward.")
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--seed", type=int, default=1, help="Of the bootstrap.")
@click.option("-o", "--out", type=FILE, required=True)
def posteriors(ids: tuple[Path, ...], models: tuple[tuple[str, Path], ...], gpus: int, seed: int, out: Path) -> None:
    """Error rates of alignment recovery by translation models, over id shards (named without .src and .tgt)."""
    from bitextbench.base.files import write_json
    from bitextbench.evaluation.alignment import error_rates
    from bitextbench.evaluation.posteriors import align

    found = align(ids, dict(models), device="cuda" if gpus else "cpu")
    write_json(out, {"nmt": error_rates(*found, seed=seed, signature="similarity:nmt")})
