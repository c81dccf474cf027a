"""The layout: one folder a stage, and imports run down only."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/bitextbench"
FLOORS = [  # from the ground up; stages of one floor do not import each other
    {"base"}, {"formats", "data"}, {"corpus", "text", "neighbours"}, {"encoders"}, {"nmt", "scoring", "smt"}, {"mining", "config"}, {"evaluation", "workflow"},
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
    assert len(FLOOR) <= 17


def test_the_page_of_the_architecture_has_these_floors():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("    base < "))
    assert [set(floor.split(", ")) for floor in line.strip().split(" < ")] == FLOORS[:-1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_down(path):
    stage = stage_of(path)
    assert not [other for other in imports(path) - {stage} if FLOOR[other] >= FLOOR[stage]]


def modules_of(path: Path, names: set[str]) -> set[str]:
    """The modules that a module imports anywhere, of this package."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            full = (f"{node.module}.{alias.name}" for alias in node.names)
            imported |= {name if name in names else node.module for name in full}
    return imported & names


def test_modules_import_in_no_circle():
    named = {
        ".".join(("bitextbench", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in MODULES
    }
    TopologicalSorter({name: modules_of(path, {*named}) - {name} for name, path in named.items()}).prepare()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_have_at_most_60_lines(path):
    functions = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )
    assert not [node.name for node in functions if node.end_lineno - node.lineno >= 60]


def test_what_rules_share_is_short():
    lines = (ROOT / "rules/common.smk").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150


def test_no_lambda_of_a_rule_is_longer_than_a_line():
    """What takes more is a function, or a list that the head of the file makes."""
    for path in sorted((ROOT / "rules").glob("*.smk")):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        assert not [f"{path.name}:{n}" for n, line in lines if re.search(r"lambda[^:]*:.*[(\[{]$", line)]


SHARED = {"Model", "Cell"}  # of each encoder and of the n-gram language model; of a table and of a chart parser


def test_classes_have_names_of_their_own():
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in MODULES)
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == SHARED


LITERALS = ast.Dict | ast.List | ast.Set | ast.Tuple


def ends_of_data(text: str) -> set[int]:
    """The lines in which a literal ends that is assigned, compared with by an assertion, or given to a decorator."""
    values: list[tuple[int | None, ast.expr]] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if node.value:
                values.append((node.end_lineno, node.value))
            case ast.Assert(test=ast.Compare(comparators=[*_, other])):
                values.append((node.end_lineno, other))
            case ast.FunctionDef(decorator_list=decorators):
                calls = [one for one in decorators if isinstance(one, ast.Call)]
                values += [(call.end_lineno, argument) for call in calls for argument in call.args]
    return {line for line, value in values if line and isinstance(value, LITERALS)}


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "docs", "envs"])
def test_the_formatter_skips_nothing_but_data(folder):
    wrong = []
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        skipped = {n for n, line in enumerate(text.splitlines(), start=1) if line.endswith("# fmt: " + "skip")}
        wrong += [f"{path.relative_to(ROOT)}:{n}" for n in sorted(skipped - (ends_of_data(text) if skipped else set()))]
    assert not wrong


LIKE = 10  # lines of code that may not stand in two places


def windows(path: Path) -> Iterator[str]:
    """Every run of so many lines of code of a file; comments, imports and lone brackets are no code."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    code = [line for line in lines if len(line) > 3 and not line.startswith(("#", "from ", "import ", '"""'))]
    return ("\n".join(code[start : start + LIKE]) for start in range(len(code) - LIKE + 1))


def test_no_ten_lines_stand_in_two_places():
    found: dict[str, list[str]] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "rules").glob("*.smk")]):
        for window in windows(path):
            found.setdefault(window, []).append(str(path.relative_to(ROOT)))
    twice = {", ".join(places): window for window, places in found.items() if len(places) > 1}
    assert twice == {}


PRIVATE = {  # modules that may take private names of other packages: all of one package in one module, which checks its version
    "base/snakemake_internals.py",
    "base/torch_internals.py",
    "evaluation/sacrebleu_internals.py",
    "nmt/fairseq_shim.py",
}
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}


def is_private(name: str | None) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in (name or "").split("."))


def private_names(path: Path) -> set[str]:
    """The private names that a module takes and does not define itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own, taken = set(NAMED_TUPLE), set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                own.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                own.add(name)
            case ast.Attribute(attr=name) if is_private(name):
                taken.add(name)
            case ast.ImportFrom(module=module, names=names):
                taken |= {module for _ in names if is_private(module)} | {a.name for a in names if is_private(a.name)}
            case ast.Import(names=names):
                taken |= {alias.name for alias in names if is_private(alias.name)}
    return taken - own


def test_private_names_of_others_are_taken_in_one_module_each():
    found = {str(path.relative_to(PACKAGE)): names for path in MODULES if (names := private_names(path))}
    assert found.keys() <= PRIVATE, found
    for name in PRIVATE:
        assert re.search(r"^(if _other := )?versions\.", (PACKAGE / name).read_text(encoding="utf-8"), flags=re.M), name
