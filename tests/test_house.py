"""The layout: one folder a stage, and imports run down only."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src/bitextbench"
FLOORS = [  # from the ground up; stages of one floor do not import each other
    {"base"}, {"formats", "data"}, {"corpus", "text"}, {"encoders"}, {"nmt", "scoring", "smt"}, {"mining", "config"}, {"evaluation", "workflow"},
    {"report"}, {"cli"}, {"__main__"},
]  # fmt: skip
FLOOR = {stage: floor for floor, stages in enumerate(FLOORS) for stage in stages}


def imports(path: Path) -> set[str]:
    """The stages that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "bitextbench"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {parts[1] for name in names if (parts := name.split("."))[0] == "bitextbench" and len(parts) > 1}
    return found - {"__version__"}


def stage_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if stage_of(path) != "__init__")


def test_each_stage_has_a_floor():
    assert {stage_of(path) for path in MODULES} == set(FLOOR)
    assert len(FLOOR) <= 16


def test_the_page_of_the_architecture_has_these_floors():
    text = (PACKAGE.parents[1] / "docs/architecture.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("    base < "))
    assert [set(floor.split(", ")) for floor in line.strip().split(" < ")] == FLOORS[:-1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_down(path):
    stage = stage_of(path)
    assert not [other for other in imports(path) - {stage} if FLOOR[other] >= FLOOR[stage]]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_have_at_most_60_lines(path):
    functions = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )
    assert not [node.name for node in functions if node.end_lineno - node.lineno >= 60]


def test_what_rules_share_is_short():
    lines = (PACKAGE.parents[1] / "rules/common.smk").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
