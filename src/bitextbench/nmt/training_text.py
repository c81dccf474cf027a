"""The text that a translation model is trained on: train.<src> and train.<tgt>, Moses tokens, a line a pair.

Selected and mined pairs, and whole corpora one after the other: artetxe2019 section 4.3, guo2018 sections 4.3 and 4.4.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.base.bootstrap import rate
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import atomic
from bitextbench.formats import bitext
from bitextbench.formats.bitext import PARALLEL
from bitextbench.formats.training_text import opened


def join(selections: Sequence[Path], corpora: Mapping[str, Path], languages: tuple[str, str], out: Path) -> None:
    """Write the pairs of selections and of whole tokenised corpora, one after the other.

    selection.json has `pairs`, `parts` (by source) and, where the truth is known, the `precision` of the selection. In a
    constructed pool that is the share of pairs labelled parallel among the labelled ones. Raises InputError for unequal sides.
    """
    parts: dict[str, int] = {}
    precision: dict[str, Any] = {}
    with atomic(out) as folder:
        folder.mkdir()
        with opened(folder, languages) as files:

            def add(name: str, sides: Sequence[Sequence[str]], where: Path) -> None:
                if len(sides[0]) != len(sides[1]):
                    raise InputError(
                        f"the sides have {len(sides[0]):,} and {len(sides[1]):,} lines", where, remedy="make both again"
                    )
                parts[name] = len(sides[0])
                for file, lines in zip(files, sides, strict=True):
                    file.writelines(f"{line}\n" for line in lines)

            for selection in selections:
                add(selection.name, [list(read_lines(selection / f"train.{code}")) for code in languages], selection)
                selected = read_json(selection / "selection.json")
                precision |= selected.get("precision") or _by_label(selected.get("words_by_label", {}))
            for name, tokens in corpora.items():
                add(name, [bitext.read_side(existing(tokens), side) for side in ("src", "tgt")], tokens)
        summary = {"pairs": sum(parts.values()), "parts": parts}
        write_json(folder / "selection.json", summary | ({"precision": precision} if precision else {}))


def _by_label(pairs: Mapping[str, int]) -> dict[str, Any]:
    """The share of good pairs among the labelled ones, from the number of each label; {} without labels."""
    good, labelled = pairs.get(PARALLEL, 0), sum(number for label, number in pairs.items() if label)
    return rate("precision of pairs", np.arange(labelled) < good, signature="truth:label") if labelled else {}
