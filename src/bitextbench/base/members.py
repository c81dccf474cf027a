"""Members of a kind, one module each: encoders (`encoders/models`), similarities (`scoring/similarities`), and your
own.

Your own lie in a folder of plugins: `<folder>/encoders/<type>.py`, `<folder>/similarities/<name>.py`. The key `plugins`
of a configuration names that folder, on the command line the environment variable BITEXTBENCH_PLUGINS.

What a member declares is read from its source. Planning a run executes no member, and does not load what members
import.
"""

import ast
import contextlib
import os
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bitextbench.base.errors import InputError, near

PLUGINS = "BITEXTBENCH_PLUGINS"
KINDS = {"encoders": ("encoder", "encoders/models"), "similarities": ("similarity", "scoring/similarities")}


class Argument(NamedTuple):
    """An argument that is given by name: its annotation and its default as they are written, "" without one."""

    annotation: str
    default: str


def folders(kind: str) -> list[str]:
    """Where the members of a kind lie: the package's folder, then one of each folder of plugins."""
    plugins = [folder for folder in os.environ.get(PLUGINS, "").split(os.pathsep) if folder]
    return [
        str(Path(__file__).parents[1] / KINDS[kind][1]),
        *(str(Path(folder).absolute() / kind) for folder in plugins),
    ]


def sources(kind: str) -> dict[str, Path]:
    """The members of a kind by name, sorted. Where two have one name, the package's own is taken."""
    return _sources(tuple(folders(kind)))


@cache
def _sources(folders: tuple[str, ...]) -> dict[str, Path]:
    files = {
        info.name: Path(folder, f"{info.name}.py")
        for folder in reversed(folders)
        for info in pkgutil.iter_modules([folder])
    }
    return dict(sorted(files.items()))


def source(kind: str, name: str) -> Path:
    """The file of a member. Raises InputError for an unknown name, with the nearest name or a folder that is missing or empty."""
    known = sources(kind)
    if name not in known:
        if missing := [folder for folder in folders(kind)[1:] if not Path(folder).parent.is_dir()]:
            what = f"unknown {KINDS[kind][0]} {name!r}, and no folder {Path(missing[0]).parent}"
            raise InputError(what, PLUGINS, remedy=f"name a folder that has {kind}/{name}.py")
        empty = [folder for folder in folders(kind)[1:] if not any(Path(folder).glob("*.py"))]
        remedy = f"no plugin is in {empty[0]}" if empty else f"a plugin: name its folder in {PLUGINS}"
        raise InputError(f"unknown {KINDS[kind][0]} {name!r}", remedy=f"{near(name, known)} ({remedy})")
    return known[name]


@cache
def _body(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_text(encoding="utf-8")).body
    except SyntaxError as error:
        raise InputError(f"not Python ({error.msg})", path, line=error.lineno, remedy="mend the syntax") from None


def constants(path: Path) -> dict[str, Any]:
    """The names in capitals that a module sets to literals."""
    found = {}
    for node in _body(path):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name.isupper():
                with contextlib.suppress(ValueError):  # computed, so that it declares nothing
                    found[name] = ast.literal_eval(value)
    return found


def arguments(path: Path, name: str) -> dict[str, Argument] | None:
    """The arguments by name of a class's `__init__`, with those of the base class where it has `**` or no `__init__`.

    None where the base class is not one of this package.
    """
    definition = next((node for node in _body(path) if isinstance(node, ast.ClassDef) and node.name == name), None)
    if definition is None:
        raise InputError(f"no class {name}", path, remedy=f"write class {name}(Encoder)")
    inits = [node.args for node in definition.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    named = {
        arg.arg: Argument(*(ast.unparse(part) if part else "" for part in (arg.annotation, default)))
        for init in inits
        for arg, default in zip(init.kwonlyargs, init.kw_defaults, strict=True)
    }
    if inits and not inits[0].kwarg:
        return named
    base = _class(path, ast.unparse(definition.bases[0])) if definition.bases else None
    inherited = arguments(*base) if base else None
    return None if inherited is None else inherited | named


def _class(path: Path, name: str) -> tuple[Path, str] | None:
    """The file of a class that a module uses, and its name there: the module itself, or one of this package."""
    for node in _body(path):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return path, name
        if not isinstance(node, ast.ImportFrom):
            continue
        package, *parts = (node.module or "").split(".")
        for alias in node.names:
            if name == (alias.asname or alias.name) and package == __package__.split(".")[0]:
                place = Path(__file__).parents[1].joinpath(*parts)
                return place / "__init__.py" if place.is_dir() else place.with_suffix(".py"), alias.name
    return None
