"""The tables of the lexicon: a column for each language; a cell holds the forms that its grammar needs.

- nouns: type letter; en `sg [pl]`; de `gender sg pl [w]` (w: weak); fr, es `gender sg [pl]`;
  ru `gender[a][!][0] nom [s=stem] [p=, gp=, l=, ins=]` (a: animate, !: stressed endings, 0: not declined);
  zh `word measure`; loc: the preposition of a place in each language
- adjectives: types of the nouns that it modifies (c: a colour); positive and comparative; fr `<`: precedes the noun,
  `v=`: the form before vowels
- verbs: `subject>object>recipient` types (g: goal, s: that-clause); principal parts; `@`: the case or preposition that
  it governs
- names, cities, words: the form itself

Types: p person, o organisation, n animal, f food, t thing, v vehicle, d text, m medium, b building, l place, a
abstract, e event. Rows of one type are ordered by falling frequency (Zipf).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

GENDERED = ("de", "fr", "es", "ru")  # their nouns begin with the gender


@cache
def table(name: str) -> list[dict[str, str]]:
    """The rows of a table, in order: column -> cell."""
    text = Path(__file__).with_name(f"{name}.tsv").read_text(encoding="utf-8")
    head, *rows = (line.split("\t") for line in text.splitlines())
    return [dict(zip(head, row + [""] * (len(head) - len(row)), strict=True)) for row in rows]


def dictionary(name: str, languages: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The first form of each entry of a table (nouns in the singular) in each language."""
    for row in table(name):
        yield tuple(cell(row[language])[0][name == "nouns" and language in GENDERED] for language in languages)


def key(cell: str) -> str:
    """The name of a concept: the first English form."""
    return cell.split()[0]


def cell(text: str) -> tuple[list[str], dict[str, str]]:
    """A cell's plain forms and its name=form exceptions; `_` stands for a space inside a form."""
    forms = [form.replace("_", " ") for form in text.split()]
    return [form for form in forms if "=" not in form], dict(form.split("=") for form in forms if "=" in form)
