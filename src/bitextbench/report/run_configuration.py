"""The configuration of a run as its rules have it."""

from itertools import chain
from typing import Any

from bitextbench.config import Config
from bitextbench.config.resolution import resolve
from bitextbench.report import layout, leaderboard_layout
from bitextbench.workflow import add_seeds


def of_run(config: Config) -> tuple[Config, dict[str, list[Any]]]:
    """A configuration that is resolved, and has the models of all seeds that fill cells; and these cells, by table.

    Raises InputError as `resolve` does.
    """
    resolved = resolve(config)
    cells = layout.load() | {leaderboard_layout.PLACE: leaderboard_layout.entries(resolved)}
    add_seeds(resolved, chain(*cells.values()))
    return resolved, cells
