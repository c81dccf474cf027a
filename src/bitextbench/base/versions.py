"""The exact versions of packages whose private names this package takes: one module takes those of each, and checks it."""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from bitextbench.base.errors import InputError


def other(wanted: Mapping[str, str]) -> str:
    """The first package of another version than these, in words; "" for none. What follows a "+" is the build's."""
    return next((f"{name} {here}, and this workflow needs {wanted[name]}" for name, here in _others(wanted)), "")


def _others(wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Those installed in another version. One that is missing is left to whoever imports it: the environment of a rule has
    only what its rule needs.
    """
    for name, exact in wanted.items():
        try:
            here = version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
        if here != exact:
            yield name, here


def check(wanted: Mapping[str, str]) -> None:
    """Raises InputError for another version than these."""
    if said := other(wanted):
        raise InputError(said, remedy="make env, and use .venv")
