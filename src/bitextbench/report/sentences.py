"""Sentences and short texts of the report's pages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bitextbench.base.progress import count_of
from bitextbench.report.audit import NOT_COMPARABLE, NOT_RUN, OUT, Judgement
from bitextbench.report.cells import WARNING
from bitextbench.report.run import Run

CHANGED = "A mirror gave it {} with other content than the publishers': no result of this run counts."
VERDICTS = {
    "holds": "in most comparisons, at a false discovery rate of 5% over the claims of the run",
    "fails": "in most comparisons, at the same rate",
    "mixed": "it holds in some comparisons and fails in others, at the same rate",
    "level": "in most comparisons the difference is smaller than the metric's equivalence bound, in either direction",
    "undecided": "the intervals are too wide",
    OUT: "every comparison has a number of ours that is far from the paper's: shown, but not counted",
    NOT_COMPARABLE: "states the paper's own figures",
    NOT_RUN: "a table that it needs was not computed",
}
MANY = {"holds": "hold", "fails": "fail", "yes": "as in the paper", "no": "different, with a reason"}
ABOUT = {  # what the rows of tables are that no paper has
    "precision": "The share of good words among the words that a method selects. Rows negatives-* are the MLP with the negatives of Table 5 of Kim et al. 2019.",
    "quality": "ROC-AUC is 50 for a random score. The rows human_* are releases of ParaCrawl with the labels of people. The pairs of release 6 were labelled twice: human_v6 has the first labels, human_v6_2 the second, and annotator_v6 is the second labels as a score of the first. A row that names a fault, such as misaligned, compares good pairs with bad pairs of that kind alone.",
}


def warning(run: Run) -> str:
    """What a reader of each page has to know: data of a mirror with other content, a run that is not the paper's."""
    changed = sum(file.get("checksum") == "changed" for file in run.provenance.get("data", []))
    scale = WARNING.format(run.scale) if run.scale not in ("", "paper") else ""
    return " ".join(filter(None, [scale, CHANGED.format(count_of(changed, "file")) if changed else ""]))


def about(run: Run) -> str:
    """A sentence on the run."""
    number = sum(bool(table.csv) for table in run.tables.values())
    return (
        f"The {run.name} run has {number} tables. Each of our numbers stands next to the paper's, with a 95% interval,"
        " and each claim that a paper makes in words is tested on ours."
    )


def counted(counts: Mapping[str, int]) -> str:
    """Counts in words: "24 hold, 12 undecided"."""
    return ", ".join(f"{number} {MANY.get(verdict, verdict)}" for verdict, number in counts.items())


def code(claim: Judgement) -> str:
    """The predicate of a claim, with its variables in capitals."""
    return re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), claim.predicate)


def score(claim: Judgement) -> str:
    """The number of instances in which a claim holds, of those that count."""
    done = claim.holds + claim.fails + claim.level + claim.undecided
    return f"holds in {claim.holds} of {done}" if done else ""


def nested(sentences: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each sentence with the indented ones that follow it."""
    held: list[tuple[str, list[str]]] = []
    for sentence in sentences:
        if sentence.startswith(" "):
            held[-1][1].append(sentence.strip())
        else:
            held.append((sentence, []))
    return held


def provenance(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance as a sentence and a few lines."""
    if not facts:
        return {"sentence": "", "summary": {}}
    spent, code, machine = (facts.get(name, {}) for name in ("time_and_memory", "code", "hardware"))
    sentence = f"{spent.get('jobs', 0):,} jobs, {duration(spent.get('wall_s_sum'))} of work, at most {spent.get('max_rss_mb') or 0:,.0f} MB in one job."
    changed = " with changes" if code.get("dirty") else ""
    lines = {
        "bitextbench": code.get("bitextbench"),
        "commit": f"{code.get('commit')}{changed}",
        "processor": machine.get("cpu"),
        "cores": machine.get("cores"),
        "memory": f"{machine.get('memory_gib')} GiB",
        "GPUs": machine.get("gpus"),
        "system": machine.get("system"),
        "configuration": f"SHA-256 {facts.get('config_sha256')}",
        "signature": facts.get("signature"),
    }
    return {"sentence": sentence, "summary": lines}


def duration(seconds: float | None) -> str:
    """A time in seconds as text: 47 s, 12 min, 3.6 h."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def probability(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"
