"""The layout of the leaderboard: leaderboard.yaml says what is measured of each encoder that a configuration names."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from bitextbench.base.json_yaml import read_packaged
from bitextbench.report import layout
from bitextbench.report.layout import Entry

PLACE = "leaderboard"


@cache
def groups() -> dict[str, dict[str, Any]]:
    """The groups of columns: leaderboard.yaml."""
    return dict(read_packaged("report/leaderboard.yaml"))


def entries(config: Mapping[str, Any]) -> list[Entry]:
    """What is to be measured of each encoder that `leaderboard` of a configuration names; {} for none."""
    return [
        entry
        for row, wanted in config.get(PLACE, {}).items()
        for name in wanted.get("groups", groups())
        for block in groups()[name]["cells"]
        for entry in _entries(config, row, wanted["encoder"], name, block)
    ]


def _entries(
    config: Mapping[str, Any], row: str, encoder: str, group: str, block: Mapping[str, Any]
) -> Iterator[Entry]:
    """The entries of a block of leaderboard.yaml; of methods, those that score by the row's encoder."""
    named = {key: value for key, value in block.items() if key not in ("column", "method")}
    named |= {"cell": [row, f"{group}/{block['column']}"], "encoder": encoder.replace("{pair}", "en-{lang}")}
    if "method" in block:
        named["encoder"] = block["method"]
    for entry in layout.entries(PLACE, named):
        if "method" not in block or _scores_by(config, entry.encoder.partition(".")[0], encoder):
            yield entry


def _scores_by(config: Mapping[str, Any], method: str, encoder: str) -> bool:
    """Whether a method scores by an encoder, or by one that is the same published one."""
    encoders, scored_by = config["encoders"], config["methods"].get(method, {}).get("encoder")
    return scored_by is not None and encoders[scored_by] == encoders.get(encoder)
