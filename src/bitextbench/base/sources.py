"""The version of the code that decides a file's bytes: a hash of the modules that a command runs, without their docstrings and comments.

A rule has it among its parameters, so that code that changes makes anew what depends on it. Modules are found by their imports,
from the command on. Not among them are those that move bytes and decide none (PLUMBING), and those of which a command uses a part
that its arguments name (BY_NAME): members such as a model, parsers, the embedded corpus. Packages count by their locks, not here.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

from bitextbench.base.errors import InputError, near

PACKAGE = Path(__file__).parents[1]
PLUMBING = {
    *(f"base.{name}" for name in ("compiled", "errors", "files", "json_yaml", "lines", "members", "memory", "outputs", "packed", "parallel", "processor",
      "progress", "run_lock", "snakemake_internals", "sources", "sums", "versions")),
    "data.fetch", "data.registry", "data.unpack",
}  # fmt: skip
CONFIG = "config."  # plumbing, too: what commands get of it are arguments
BY_NAME = ("data.parsers", "data.synth", "encoders.models.", "scoring.similarities.", "cli.")
_IMPORT = re.compile(r"^ *from bitextbench(?:\.([\w.]+))? import (?:\(([^)]*)\)|(.+))$", re.M)
_COMMENT = re.compile(r'^ *(?:r?"""(?=[^\s".,)])(?:.|\n)*?"""|#.*)$\n?|^\s*\n', re.M)
_COMMAND = re.compile(r'^ *@(cli|step|evaluate|examples)\.command\(\s*(?:"([\w-]+)")?', re.M)
GROUPS = {"cli": "", "step": "step ", "evaluate": "evaluate ", "examples": ""}
_FUNCTION = re.compile(r"^def (\w+)\(", re.M)


@cache
def version(command: str, *named: str | Path) -> str:
    """The version of the code that a command runs, as in "step corpus"; `named`: modules and files that its arguments name.

    Raises InputError for an unknown command.
    """
    texts = _bodies(command) | {str(one): _plain(one) for one in named if isinstance(one, Path)}
    found = _reached(_imports("\n".join(texts.values())), {one for one in named if isinstance(one, str)})
    return _hash(texts | {name: _text(name) for name in found})


def imports(command: str) -> set[str]:
    """The modules of this package that a command imports itself. Raises InputError for an unknown command."""
    return _imports("\n".join(_bodies(command).values()))


def _bodies(command: str) -> dict[str, str]:
    """The body of a command, and of those functions of its module that it uses."""
    known = _commands()
    if command not in known:
        raise InputError(f"no command {command!r}")
    module, body = known[command]
    return {command: body, **_used(body, _blocks(f"cli.{module}"))}


@cache
def modules(*named: str | Path) -> str:
    """The version of modules, and of files, with all that they import: what a checkpoint of a training depends on."""
    given = {one.name: _plain(one) for one in named if isinstance(one, Path)}
    found = _reached(_imports("\n".join(given.values())), {one for one in named if isinstance(one, str)})
    return _hash(given | {name: _text(name) for name in found})


def _hash(texts: dict[str, str]) -> str:
    return hashlib.sha256("\0".join(part for item in sorted(texts.items()) for part in item).encode()).hexdigest()[:12]


def part(module: str, name: str) -> str:
    """The hash of a function of a module, and of what it uses of that module. Raises InputError for an unknown one."""
    blocks = _blocks(module)
    if name not in blocks:
        raise InputError(f"no function {name!r}", module, remedy=near(name, blocks))
    text = "\0".join(text for _, text in sorted(({name: blocks[name]} | _used(blocks[name], blocks)).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _used(text: str, blocks: dict[str, str]) -> dict[str, str]:
    """The functions and classes that a text names, and those that they name."""
    found, left = dict[str, str](), [text]
    while left:
        names = {
            name for one in left for name in re.findall(r"(?<![.\w])\w+", one) if name in blocks and name not in found
        }
        left = [blocks[name] for name in names]
        found |= {name: blocks[name] for name in names}
    return found


def _reached(imported: set[str], named: set[str]) -> set[str]:
    """Modules and all that they import, but plumbing and what is named by arguments."""
    found, left = set[str](), named | _deciding(imported)
    while left:
        found |= left
        left = {other for name in left for other in _deciding(_imports(_text(name)))} - found
    return found


def _deciding(modules: set[str]) -> set[str]:
    return {name for name in modules - PLUMBING if not f"{name}.".startswith((CONFIG, *BY_NAME))}


def _imports(text: str) -> set[str]:
    """The modules of this package that a text imports."""
    found = set()
    for package, together, line in _IMPORT.findall(text):
        for name in re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", together or line)):
            inner = f"{package}.{name}".strip(".")
            found.add(inner if _file(inner) else package)
    return found - {""}


@cache
def _file(module: str) -> Path | None:
    place = PACKAGE.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists()), None)


@cache
def _text(module: str) -> str:
    """A module without docstrings and comments, and its table; of a package that is named, all that it holds."""
    path = _file(module)
    if not path:
        raise InputError(f"no module {module}")
    whole = module.startswith("data.synth") and path.name == "__init__.py"
    held = sorted(path.parent.iterdir()) if whole else [path, path.with_suffix(".tsv")]
    return "".join(_plain(one) for one in held if one.is_file())


def _plain(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return _COMMENT.sub("", text) if path.suffix == ".py" else text


@cache
def _blocks(module: str) -> dict[str, str]:
    """The functions and classes of a module at its top level that are no commands, with decorators, by name."""
    path = _file(module)
    texts = path.read_text(encoding="utf-8").split("\n\n\n") if path else []
    named = ((re.search(r"^(?:def|class) (\w+)", text, re.M), _COMMENT.sub("", text)) for text in texts)
    return {found[1]: text for found, text in named if found and not _COMMAND.search(text)}


@cache
def _commands() -> dict[str, tuple[str, str]]:
    """The module and the body of each command."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        for block in path.read_text(encoding="utf-8").split("\n\n\n"):
            if not (function := _FUNCTION.search(block)):
                continue
            for group, name in _COMMAND.findall(block):
                whole = f"{GROUPS[group]}{name or function[1].replace('_', '-')}"
                called = "step examples" if group == "examples" else whole  # of all pages together
                before = found[called][1] if called in found else ""
                found[called] = path.stem, before + _COMMENT.sub("", block[function.start() :])
    return found
