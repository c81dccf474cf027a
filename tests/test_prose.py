"""Plain English in what people read: short sentences, short lines, and none of the phrases that made readers stumble.

Measured are README.md, CONTRIBUTING.md, the pages of docs/ but for the notebook, and the help of every command. Lines
are measured where they are written: in the templates of the pages that are generated. Docstrings are searched for
phrases, and those of public functions and classes are measured, too.
"""

import ast
import re
from collections.abc import Iterator

import click
import pytest
from test_docs import ROOT, TEXTS

from bitextbench.cli.main import cli

WORDS, COLUMNS = 30, 120
SOURCES = sorted((ROOT / "src").rglob("*.py"))
DOCUMENTED = ast.Module | ast.FunctionDef | ast.ClassDef
RIDDLES = {
    "for, meaning instead of": r"\b\d[\d.,]* for \d",
    "told from": r"\btold (from|apart)\b|\b(tell|tells) (\w+ )?apart\b",
    "beside": r"\bbeside\b",
    "a model of minutes": r"\b(encoders?|models?|trainings?) of (minutes|\d)",
    "is so": r"\b(neither|is|are|was|were) so\b(?! (few|many|much|small|large|long|short|good|bad|weak)\b)",
    "history": r"\buntil commit\b|\bstood here\b|\bused to be\b",
}
PAGES = [page for page in TEXTS if page.name != "CHANGELOG.md" and "notebook" not in page.parts]
TEMPLATES = sorted((ROOT / "docs/templates").rglob("*.j2"))
BY_HAND = [
    page
    for page in PAGES
    if page.parent.name != "tables"
    and not (ROOT / f"docs/templates/{page.name}.j2").exists()
    and page.stem != "leaderboard"
]


def blocks(text: str) -> Iterator[str]:
    """The paragraphs, items and cells of a page in Markdown, without code and quotations."""
    text = re.sub(r"```.*?```|<!--.*?-->|^(?: {4}|\t)(?! *[-*|])[^\n]*$", "", text, flags=re.M | re.S)
    text = re.sub(r"^#.*$|^ *(?:[-*]|\d+\.) ", "\n\n", text, flags=re.M)
    text = text.replace("<br>", "\n\n")
    text = re.sub(r"^\|(.*)\|$", lambda row: "\n\n".join(row[1].split(" | ")) + "\n", text, flags=re.M)
    yield from re.split(r"\n\s*\n", text)


def sentences(block: str) -> list[str]:
    """Its sentences; code and formulas count as a word each, and quotations as one."""
    for shown in (r"`[^`]+`", r"\$[^$]+\$", r"“[^”]*”", r'"[^"]{20,}"'):
        block = re.sub(shown, "X", block)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block).replace("**", "")
    return re.split(
        r"(?<!\beq)(?<!\bal)[.!?][)\"']?\s+(?=[A-Z\d\"'(\[]|[a-z]+\d{4}|[a-z]\d?\b)", " ".join(plain.split())
    )


def faults(text: str) -> list[str]:
    found = []
    for sentence in (sentence for block in blocks(text) for sentence in sentences(block)):
        if (count := sum(map(bool, re.findall(r"\S*\w\S*", sentence)))) > WORDS:
            found.append(f"{count} words: {sentence}")
        found += [f"{name}: {sentence}" for name, riddle in RIDDLES.items() if re.search(riddle, sentence)]
    return found


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Every command and option -> its help."""
    yield name, command.help or ""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield f"{name} {parameter.opts[0]}", parameter.help or ""
    if isinstance(command, click.Group):
        for part, inner in command.commands.items():
            yield from helps(inner, f"{name} {part}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_in_plain_english(page):
    assert faults(TEXTS[page]) == []


@pytest.mark.parametrize("page", [*BY_HAND, *TEMPLATES], ids=lambda page: page.name)
def test_lines_of_prose_are_short(page):
    lines = re.sub(
        r"```.*?```", lambda code: "\n" * code[0].count("\n"), page.read_text(encoding="utf-8"), flags=re.S
    ).splitlines()
    shown = ("|", "    ", "{", "  ") if page in TEMPLATES else ("|", "    ")
    assert [
        n for n, line in enumerate(lines, 1) if len(line) > COLUMNS and "{{" not in line and not line.startswith(shown)
    ] == []


def test_help_is_in_plain_english():
    assert {name: found for name, text in helps(cli, "bitextbench") if (found := faults(text))} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_docstrings_have_no_riddles(path):
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, DOCUMENTED)]
    assert [fault for node in nodes for fault in faults(ast.get_docstring(node) or "") if "words: " not in fault] == []


def public(node: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The public functions and classes of a module, and the methods of these classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_docstrings_of_public_functions_have_short_sentences(path):
    nodes = public(ast.parse(path.read_text(encoding="utf-8")))
    assert {node.name: found for node in nodes if (found := faults(ast.get_docstring(node) or ""))} == {}


def test_faults_are_found():
    long = "word " * 31
    assert len(faults(f"Short.\n\n- {long}.\n\n| a | {long} |\n\n`{long}` is code.\n\n    {long}\n")) == 2
    assert len(faults(f"Before:\n\n    code\n\n{long}.\n")) == 1  # what follows code is prose
    riddles = "It takes 35.7 for 45.0. They are told apart. It is beside it. An encoder of minutes. Neither is so."
    riddles += " It used to be."
    assert {fault.split(":")[0] for fault in faults(riddles)} == {*RIDDLES}
    assert faults("There are so many that we stop. Instead of 45.0 it takes 35.7 seconds.") == []
