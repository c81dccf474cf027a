"""Files of a configuration, each laid over those before it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_yaml
from bitextbench.config import Config

INHERIT = "inherit"  # false: this mapping takes the place of the one it is laid over


def read(
    base: Iterable[str | Path], overlays: Iterable[str | Path] = (), settings: Mapping[str, Any] | None = None
) -> Config:
    """Configuration files, each laid over those before it, then `settings` of the command line. See `laid_over`.

    As Snakemake has it, keys of the overlays come before those of the base: a trained model holds its configuration in
    this order. Raises InputError for a file that cannot be read, or in which a key appears twice.
    """
    over = laid_over(_merged(overlays), settings or {})
    return _without_marks(laid_over(laid_over(over, _merged(base)), over))


def _merged(paths: Iterable[str | Path]) -> Config:
    whole: Config = {}
    for path in paths:
        if not isinstance(held := read_yaml(path), dict):
            raise InputError("not a mapping", path, remedy="write 'key: value'")
        whole = laid_over(whole, held)
    return whole


def laid_over(base: Any, over: Mapping[str, Any]) -> Config:
    """`over` on top of `base`: mappings are merged, anything else is replaced; also a mapping that says `inherit:
    false`. One over a null says so from then on: what the null took out of the files below does not come back.
    """
    over = {INHERIT: False, **over} if base is None else over
    base = base if isinstance(base, Mapping) and over.get(INHERIT) is not False else {}
    return {**base, **{k: laid_over(base.get(k, {}), v) if isinstance(v, Mapping) else v for k, v in over.items()}}


def _without_marks(value: Any) -> Any:
    """A copy without `inherit: false`, at any depth of mappings."""
    if not isinstance(value, dict):
        return value
    return {key: _without_marks(inner) for key, inner in value.items() if (key, inner) != (INHERIT, False)}
