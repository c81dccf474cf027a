"""The layout of the papers' tables: `tables.yaml` says which measurement belongs into which cell.

The file has a list of blocks for each table (`<paper>/table<N>`). A block describes one cell, or one cell for each
combination of the values of its variables:

| key | meaning |
|---|---|
| for | variables: a list of values, or a mapping from the paper's names to ours |
| cell | [row, column] of the reference; `{variable}` is the paper's name |
| task | what is measured: metrics are at <work>/metrics/<task>/<corpus>/<encoder>.json |
| corpus | the corpus of the measurement; of a list of corpora the cell has the mean |
| encoder | the name of what is measured; its kind depends on the task (below) |
| similarity | how sentences are compared; not for those of LESS |
| metric | which of the task's numbers, levels joined by dots; not for `bleu` |
| note | a condition that differs from the paper's |
| against | of `translation` and `smt`: the row with which each other row's BLEU is compared by a test; the result is a note |
| label | the name of a row of our own, below the paper's rows |
| unlike | the encoder of other rows, which `encoder` is compared with: where one published encoder stands for both, the cell is empty |
| why | instead of `task` and all keys below it: the reason for an empty cell |

In all keys but `cell`, `{variable}` is our name. `encoder` names

| task | an entry of |
|---|---|
| posteriors | `likelihoods` |
| rescoring | `rescorers` |
| translation | `translations` |
| smt | `smt` |
| agreement, quality | `methods` |
| bleu, selection | a selection, `<method>.<budget>` |
| size | always `filtered` |
| any other | `encoders` |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_packaged
from bitextbench.config import PRETRAINED
from bitextbench.corpus.parts import own_files

NEEDED = ("task", "corpus", "encoder", "similarity", "metric")
LESS = {  # that a task has not
    **{task: {"similarity"} for task in ("translation", "agreement", "size", "smt", "quality", "cost")},
    **{task: {"similarity", "metric"} for task in ("bleu", "selection")},
}
KEYS = {"for", "cell", *NEEDED, "note", "against", "label", "unlike", "why"}


@dataclass(frozen=True)
class Entry:
    """The content of a cell as tables.yaml describes it; `why`: the reason for an empty cell, or ""."""

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
    unlike: str = ""
    place: str = ""

    @property
    def key(self) -> str:
        """The metric's place in its file."""
        return ".".join(filter(None, (self.similarity, self.metric)))

    def missing(self, config: Mapping[str, Any]) -> str:
        """Why a run lacks this number, or "": the run does not define a name, or a file of the user's own does not
        exist.
        """
        if self.why:
            return self.why
        if self.task == "translation":
            return self._untranslated(config.get("translations", {}))
        if self.task == "agreement":
            tuned = "tuned" in config["methods"].get(self.encoder, {})
            return "" if tuned else f"no tuned method {self.encoder} in this run"
        if self.task == "bleu":
            return self._unselected(config)
        if self.task == "smt":
            return self._undecoded(config)
        if self.task == "size":
            return next((f"no corpus {name} in this run" for name in self.corpora if name not in config["corpora"]), "")
        if self.task in ("quality", "selection"):
            return _absent(self.corpora, config["corpora"])
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
            same = models[self.encoder] == models.get(self.unlike)
            return f"the published encoder of this run stands for {self.unlike}, too" if same else ""
        unknown = languages(self.corpora) - languages(models[self.encoder]["corpora"].values())
        return f"{self.encoder} has not learned {', '.join(sorted(unknown))} in this run" if unknown else ""

    def trained(self, config: Mapping[str, Any]) -> bool:
        """Whether a run trains a model for this number: not where a published encoder alone is measured, or words are
        counted.
        """
        published = config["encoders"].get(self.encoder, {}).get("type") == PRETRAINED
        return self.task != "size" and not (published and self.similarity != LEARNED)

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
    """Why a run lacks one of some corpora: it does not define it, or a file of the user's own does not exist; or ""."""
    for name in names:
        if name not in corpora:
            return f"no corpus {name} in this run"
        for path in own_files(corpora[name]):
            if not Path(path).exists():
                return f"no file {path}"
    return ""


def load(path: str | Path = "report/tables.yaml") -> dict[str, list[Entry]]:
    """The cells of each table by its place. Raises InputError for an unknown or missing key and for a duplicate cell."""
    tables = {}
    for place, blocks in read_packaged(path).items():
        held = [entry for block in blocks for entry in entries(place, block)]
        cells = [(entry.row, entry.column) for entry in held]
        if twice := {cell for cell in cells if cells.count(cell) > 1}:
            raise InputError(f"{', '.join(min(twice))} appears twice", f"tables.yaml: {place}", remedy="remove one")
        tables[place] = held
    return tables


LEARNED = "mlp"  # the similarity of `encoder` tasks that is trained
PIPELINES = {"bleu", "translation", "smt", "agreement", "size"}  # tasks measured on what a whole pipeline made


@cache
def models() -> dict[tuple[str, str, str], str]:
    """The model that each seed of a cell trained, by place, row and column; "" where a whole pipeline made what is
    measured, from encoders that others share.
    """
    return {
        (place, entry.row, entry.column): "" if entry.task in PIPELINES else entry.encoder
        for place, held in load().items()
        for entry in held
    }


def entries(place: str, block: Mapping[str, Any]) -> Iterator[Entry]:
    """The entries of a block. Raises InputError for an unknown or missing key."""
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
        fields = {
            key: block.get(key, "").format(**ours)
            for key in ("task", "encoder", "similarity", "metric", "note", "against", "unlike", "why")
        }
        label = block.get("label", "").format(**printed)
        yield Entry(
            row, column, corpora=tuple(_corpora(block.get("corpus", []), ours)), label=label, place=place, **fields
        )


def _corpora(corpus: str | list[str], ours: Mapping[str, Any]) -> Iterator[str]:
    """The names that `corpus` stands for: more than one if it is a variable whose value is a list."""
    for text in [corpus] if isinstance(corpus, str) else corpus:
        lists = {
            name: value if isinstance(value, list) else [value] for name, value in ours.items() if f"{{{name}}}" in text
        }
        for choice in product(*lists.values()):
            yield text.format(**dict(zip(lists, choice, strict=True)))
