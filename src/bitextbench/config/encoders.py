"""The encoders of a configuration: which are published, what each learns from, which share hard negatives."""

from collections.abc import Iterable
from typing import Any

from bitextbench.base import members
from bitextbench.base.errors import InputError
from bitextbench.config import PRETRAINED, Config


def pretrained(config: Config) -> list[str]:
    """The encoders that are not trained in the run: those that others published (`encoders.published`)."""
    return [name for name, entry in config["encoders"].items() if entry.get("type") == PRETRAINED]


def check_roles(encoder: Config, roles: Iterable[str], where: str) -> None:
    """Raises InputError for text in a role (`hard`: hard negatives) from which an encoder of this type learns nothing.

    A type of which ROLES of its module says nothing takes any.
    """
    kind = encoder["type"]
    declared_roles = members.constants(members.source("encoders", kind)).get("ROLES")
    takes = ["valid", *(declared_roles or ()), *(encoder.get("model") or {}).get("pairs", ())]
    if declared_roles is not None and (unused := [role for role in roles if role not in takes]):
        remedy = f"remove it; this type is trained on {', '.join(takes)}"
        raise InputError(f"an encoder of type {kind} is not trained on `{unused[0]}`", where, remedy=remedy)


def sharers(config: Config, encoder: str) -> list[str]:
    """The encoders that want the same hard negatives as this one, in order."""

    def wanted(spec: Config) -> tuple[Any, ...]:
        return spec.get("hard"), spec.get("features"), spec.get("corpora", {}).get("bitext")

    encoders = config["encoders"]
    return [name for name, spec in encoders.items() if wanted(spec) == wanted(encoders[encoder])]


def hard_directions(config: Config, encoder: str) -> str:
    """`both`, or `forward` where no encoder that shares these hard negatives is trained in both directions."""
    specs = [config["encoders"][name] for name in sharers(config, encoder)]
    both = any(s["type"] == "transformer_dual" and s["model"].get("direction", "both") == "both" for s in specs)
    return "both" if both else "forward"
