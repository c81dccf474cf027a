"""Commands that download."""

from pathlib import Path

import click

from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example
from bitextbench.cli.options import FILE


@cli.command(epilog=example("fetch newstest2018.de-en -o data/newstest2018.de-en"))
@click.argument("dataset")
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    help="Folder or http address to look in before the network (also BITEXTBENCH_MIRROR).",
)
@click.option(
    "--lock",
    type=FILE,
    help="Where the checksum of a first download is kept, if none is published; by default registry.lock/DATASET.json.",
)
@opt.out_option
def fetch(dataset: str, mirrors: tuple[str, ...], lock: Path | None, out: Path) -> None:
    """Download a data set of the registry into a folder, verified; a model in an installed package is written there."""
    from bitextbench.data.fetch import fetch as run
    from bitextbench.data.fetch import mirror_places, record
    from bitextbench.data.registry import entry

    if (data_set := entry(dataset)).package:
        from bitextbench.base.outputs import check_mark
        from bitextbench.encoders import e5

        check_mark(out, e5.MARK)
        e5.export(out)
        record(data_set, out)
        return
    run(data_set, out, mirror_places(mirrors), lock or Path("registry.lock", f"{dataset}.json"))
