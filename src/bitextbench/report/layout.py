"""Which measurement stands in which cell of a paper's table: `tables.yaml`.

The file has a list of blocks for each table (`<paper>/table<N>`). A block is a cell, or as many as its variables have values:

| key | meaning |
|---|---|
| for | variables: a list of values, or a mapping from the paper's names to ours |
| cell | [row, column] of the reference; `{variable}` is the paper's name |
| task | what is measured: metrics lie at <work>/metrics/<task>/<corpus>/<encoder>.json |
| corpus | what it is measured on; a list makes the mean over its corpora |
| encoder, similarity | whose vectors are compared, and how; for the task `posteriors` models of `likelihoods`, for `rescoring` one of |
| | `rescorers`; for `translation` an entry of `translations`, for `agreement` a method, both without a similarity; for `bleu` |
| | `<method>.<budget>`: a selection, without similarity and metric; for `size` the word `filtered`, for `smt` a system of |
| | `smt`, both without similarity |
| metric | which of the task's numbers, levels joined by dots |
| note | a condition that differs from the paper's |
| against | of `translation` and `smt`: the row whose BLEU each other row's is tested against, which becomes a note |
| label | of a row of our own, which stands below the paper's: what it is called |
| why | in place of all from task on: why there is no number |

In all but `cell`, `{variable}` is our name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from bitextbench.base.errors import InputError
from bitextbench.config import PRETRAINED
from bitextbench.corpus.parts import own_files

NEEDED = ("task", "corpus", "encoder", "similarity", "metric")
LESS = {
    "translation": {"similarity"},
    "agreement": {"similarity"},
    "bleu": {"similarity", "metric"},
    "size": {"similarity"},
    "smt": {"similarity"},
}  # that a task has not
KEYS = {"for", "cell", *NEEDED, "note", "against", "label", "why"}


@dataclass(frozen=True)
class Entry:
    """What a cell is made of; `why` there is nothing, or ""."""

    row: str
    column: str
    task: str = ""
    corpora: tuple[str, ...] = ()
    encoder: str = ""
    similarity: str = ""
    metric: str = ""
    note: str = ""
    against: str = ""
    why: str = ""
    label: str = ""

    @property
    def key(self) -> str:
        """The metric's place in its file."""
        return ".".join(filter(None, (self.similarity, self.metric)))

    def missing(self, config: Mapping[str, Any]) -> str:
        """Why a run has no such number, or "": a name that it does not define, or a text of one's own that is not there."""
        if self.why:
            return self.why
        if self.task == "translation":
            return self._untranslated(config.get("translations", {}))
        if self.task == "agreement":
            return "" if self.encoder in config["methods"] else f"no method {self.encoder} in this run"
        if self.task == "bleu":
            return self._unselected(config)
        if self.task == "smt":
            return self._undecoded(config)
        if self.task == "size":
            return next((f"no corpus {name} in this run" for name in self.corpora if name not in config["corpora"]), "")
        models = config["encoders"] | config["likelihoods"] | config.get("rescorers", {})
        corpora = config["corpora"]
        if self.encoder not in models:
            return f"no encoder {self.encoder} in this run"
        if self.task == "posteriors" and not set(self.corpora) <= set(models[self.encoder]["align"]):
            return f"not asked for in this run (likelihoods.{self.encoder}.align): all pairs of sentences are scored"
        if why := _absent((*self.corpora, *models[self.encoder].get("corpora", {}).values()), corpora):
            return why

        def languages(names: Iterable[str]) -> set[str]:
            return {code for name in names for code in corpora[name].get("pair", config["pair"]).values()}

        if models[self.encoder].get("type") == PRETRAINED:
            return ""
        unknown = languages(self.corpora) - languages(models[self.encoder]["corpora"].values())
        return f"{self.encoder} has not learned {', '.join(sorted(unknown))} in this run" if unknown else ""

    def _untranslated(self, models: Mapping[str, Any]) -> str:
        if self.encoder not in models:
            return f"no translation model {self.encoder} in this run"
        test = models[self.encoder]["test"]
        return "" if self.corpora == (test,) else f"{self.encoder} translates {test} in this run"

    def _undecoded(self, config: Mapping[str, Any]) -> str:
        smt = config.get("smt", {"systems": {}})
        system = self.encoder.partition(".")[0]  # without the start of a tuning
        if system not in smt["systems"]:
            return f"no system {system} in this run"
        if unknown := set(self.corpora) - set(smt["tests"]):
            return f"{min(unknown)} is no test set of smt in this run"
        texts = [smt["bitext"], *smt["language"], smt["valid"], *self.corpora]
        for test in (smt["valid"], *self.corpora):
            texts += smt.get("references", {}).get(test, [])
        encoder = smt["systems"][system].get("encoder")
        texts += config["encoders"][encoder]["corpora"].values() if encoder else []
        return _absent(texts, config["corpora"])

    def _unselected(self, config: Mapping[str, Any]) -> str:
        method, _, budget = self.encoder.rpartition(".")
        for name, kind, known in (
            (method, "row", config["selection"]["methods"]),
            (budget, "budget", config["selection"]["budgets"]),
            (self.corpora[0], "test", config["nmt"]["tests"]),
        ):
            if name not in known:
                return f"no {kind} {name} in this run"
        return ""


def _absent(names: Iterable[str], corpora: Mapping[str, Any]) -> str:
    """What a run lacks of some corpora: the first that it does not define, or a text of one's own that is not there; or ""."""
    for name in names:
        if name not in corpora:
            return f"no corpus {name} in this run"
        for path in own_files(corpora[name]):
            if not Path(path).exists():
                return f"no file {path}"
    return ""


def load(path: Path | None = None) -> dict[str, list[Entry]]:
    """The cells of each table, by its place. Raises InputError for an unknown or missing key, a cell that appears twice."""
    text = (path or Path(__file__).with_name("tables.yaml")).read_text(encoding="utf-8")
    tables = {}
    for place, blocks in yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items():
        entries = [entry for block in blocks for entry in _entries(place, block)]
        cells = [(entry.row, entry.column) for entry in entries]
        if twice := {cell for cell in cells if cells.count(cell) > 1}:
            raise InputError(f"{', '.join(min(twice))} appears twice", f"tables.yaml: {place}", remedy="remove one")
        tables[place] = entries
    return tables


def _entries(place: str, block: Mapping[str, Any]) -> Iterator[Entry]:
    needed = {"cell", "why"} if "why" in block else {"cell", *NEEDED}
    needed -= LESS.get(block.get("task", ""), set())
    if (wrong := set(block) - KEYS) or (wrong := needed - set(block)):
        raise InputError(
            f"unknown or missing: {', '.join(sorted(wrong))}", f"tables.yaml: {place}", remedy="see layout.py"
        )
    variables = {
        name: values.items() if isinstance(values, Mapping) else [(value, value) for value in values]
        for name, values in block.get("for", {}).items()
    }
    for choice in product(*variables.values()):
        printed = {name: str(theirs) for name, (theirs, _) in zip(variables, choice, strict=True)}
        ours = {name: value for name, (_, value) in zip(variables, choice, strict=True)}
        row, column = (text.format(**printed) for text in block["cell"])
        known = {
            key: block.get(key, "").format(**ours)
            for key in ("task", "encoder", "similarity", "metric", "note", "against", "why")
        }
        label = block.get("label", "").format(**printed)
        yield Entry(row, column, corpora=tuple(_corpora(block.get("corpus", []), ours)), label=label, **known)


def _corpora(corpus: str | list[str], ours: Mapping[str, Any]) -> Iterator[str]:
    """The names of a corpus: a variable whose value is a list gives all of them."""
    for text in [corpus] if isinstance(corpus, str) else corpus:
        lists = {
            name: value if isinstance(value, list) else [value] for name, value in ours.items() if f"{{{name}}}" in text
        }
        for choice in product(*lists.values()):
            yield text.format(**dict(zip(lists, choice, strict=True)))
