"""The command `examples`: pages of examples, as the papers print them; part of `cli`."""

from pathlib import Path

import click

from bitextbench.cli.evaluation import FILE, src_shards_option, tgt_shards_option

out_option = click.option("-o", "--out", type=FILE, required=True, help="A page of Markdown.")
seed_option = click.option("--seed", type=int, default=1)


@click.group("examples")
def group() -> None:
    """Write pages of examples, chosen by rule: what the papers show in Kim 4, Guo 1, Artetxe 1 and Yang 7."""


def mined(name: str, shows: str) -> None:
    """Add a command on a comparable corpus and its vectors."""

    @group.command(name, help=shows)
    @click.argument("corpus", type=FILE)
    @click.option("--src", "src", required=True, help="Source language code.")
    @click.option("--tgt", "tgt", required=True, help="Target language code.")
    @src_shards_option
    @tgt_shards_option
    @click.option("--threads", type=int, default=1, help="CPU threads.")
    @out_option
    def command(
        corpus: Path, src: str, tgt: str, src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], threads: int, out: Path
    ) -> None:
        from bitextbench.formats.vectors import read_shards
        from bitextbench.mining import comparable
        from bitextbench.report import examples

        vectors = map(read_shards, (src_emb, tgt_emb))
        examples.write(out, getattr(examples, name)(comparable.read(corpus, (src, tgt)), *vectors, threads=threads))


mined("scales", "A wrong pair of high cosine beside a right one of lower cosine (Artetxe and Schwenk 2019, Table 1).")
mined("failures", "False positives and false negatives of cosine similarity (Yang et al. 2019, Table 7).")


@group.command("corners")
@click.argument("corpus", type=FILE)
@click.option("--scores", type=(str, FILE), multiple=True, required=True, help="METHOD FILE, for each shard in order.")
@out_option
def corners(corpus: Path, scores: tuple[tuple[str, Path], ...], out: Path) -> None:
    """Pairs that two similarities judge alike and otherwise; the second one's are logits (Kim et al. 2019, Table 4)."""
    from bitextbench.cli.scoring import by_method
    from bitextbench.report import examples
    from bitextbench.scoring.score import scores_by_id

    of_all = {name: scores_by_id(paths) for name, paths in by_method(scores).items()}
    examples.write(out, examples.corners(corpus, of_all))


@group.command("negatives")
@click.argument("corpus", type=FILE)
@click.option("--hard", type=FILE, required=True, help="What `hard-negatives` wrote, without .src and .tgt.")
@seed_option
@out_option
def negatives(corpus: Path, hard: Path, seed: int, out: Path) -> None:
    """A translation, random and hard negatives of some sources (Guo et al. 2018, Table 1)."""
    from bitextbench.report import examples

    examples.write(out, examples.negatives(corpus, hard, seed=seed))
