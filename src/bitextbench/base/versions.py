"""The exact versions of packages whose private names this package takes: one module takes those of each, and checks it."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from bitextbench.base.errors import InputError


def other(wanted: Mapping[str, str]) -> str:
    """The first package of another version than these, in words; "" for none. What follows a "+" is the build's."""
    # one that is missing is left to whoever imports it: the environment of a rule has only what its rule needs
    here = {name: found.partition("+")[0] for name in wanted if (found := installed(name))}
    wrong = (name for name in here if here[name] != wanted[name])
    return next((f"{name} {here[name]}, and this workflow needs {wanted[name]}" for name in wrong), "")


def installed(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def check(wanted: Mapping[str, str]) -> None:
    """Raises InputError for another version than these."""
    if said := other(wanted):
        raise InputError(said, remedy="make env, and use .venv")
