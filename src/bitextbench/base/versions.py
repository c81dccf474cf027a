"""The exact versions of packages whose private names this package takes: one module takes those of each, and checks it."""

from collections.abc import Mapping
from importlib.metadata import version

from bitextbench.base.errors import InputError


def other(wanted: Mapping[str, str]) -> str:
    """The first package of another version than these, in words; "" for none. What follows a "+" is the build's."""
    found = ((package, version(package).partition("+")[0], exact) for package, exact in wanted.items())
    return next((f"{name} {here}, and this workflow needs {exact}" for name, here, exact in found if here != exact), "")


def check(wanted: Mapping[str, str]) -> None:
    """Raises InputError for another version than these."""
    if said := other(wanted):
        raise InputError(said, remedy="make env, and use .venv")
