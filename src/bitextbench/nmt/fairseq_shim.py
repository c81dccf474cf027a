"""fairseq 0.12.2 under Python 3.11 and 3.12, torch 2.13 and numpy 2.4: its own code, but for what this module replaces.

`run("train", [...])` in a process, or `python -m bitextbench.nmt.fairseq_shim train ...` in place of `fairseq-train`.
Importing this module imports torch (2.7 s) and fairseq (1.5 s), and mends what has moved since 2022:

- dataclasses of fairseq are hashable: Python 3.11 refuses unhashable defaults, and fairseq's config is built of them;
- checkpoints, which are our own, load with their config objects (`weights_only=False`);
- `numpy.compat.long`, which numpy 2 has no more and language models ask for, is int;
- the encoder's fast path, which `generate` would take, is off: torch's function wants other arguments today;
- copies of a checkpoint are atomic, and the counter of early stopping is part of a checkpoint: a killed training goes
  on exactly where it was.
"""

import copy
import dataclasses
import importlib
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy

from bitextbench.base import versions
from bitextbench.base.device import torch  # first: it chooses the arithmetic

versions.check({"fairseq": "0.12.2"})
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"

_process_class = dataclasses._process_class  # type: ignore[attr-defined]


def _hashable(
    cls: type, init: bool, repr: bool, eq: bool, order: bool, unsafe_hash: bool, *rest: Any, **more: Any
) -> type:
    return _process_class(
        cls, init, repr, eq, order, unsafe_hash or cls.__module__.startswith("fairseq"), *rest, **more
    )


dataclasses._process_class = _hashable  # type: ignore[attr-defined]
numpy.compat = SimpleNamespace(long=int)  # type: ignore[attr-defined]

# fairseq calls logging.basicConfig with its own format and stream; the first call wins.
logging.basicConfig(format="%(name)s: %(message)s", level=logging.INFO, stream=sys.stderr)
logging.root.handlers[0].addFilter(lambda record: isinstance(record.msg, str))  # not the dumps of config and model
logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)  # asks for tensorboardX

import fairseq.dataclass.utils  # noqa: E402
import fairseq_cli.train  # noqa: E402
import hydra  # noqa: E402
from fairseq import checkpoint_utils, trainer  # noqa: E402
from fairseq.file_io import PathManager  # noqa: E402
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase  # noqa: E402
from fairseq.optim import OPTIMIZER_REGISTRY  # noqa: E402
from fairseq.optim.adam import FairseqAdam  # noqa: E402
from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: E402
from omegaconf import DictConfig, OmegaConf  # noqa: E402

TransformerEncoderLayerBase.can_use_fastpath = property(lambda layer: False, lambda layer, value: None)

# Attention checks the shape of its mask by means that import sympy (0.8 s).
setattr(torch.nn.functional, "_check_key_padding_mask", lambda *_: None)  # noqa: B010  mypy does not know the name

# fairseq seeds anew in every update; without a GPU torch notes each time, for later, how to seed one (5 ms).
if not torch.cuda.is_available():
    torch.manual_seed = torch.default_generator.manual_seed


def _copy(source: str, target: str, overwrite: bool = False) -> bool:
    """Copy a checkpoint so that a kill leaves the old one or the new one."""
    os.replace(shutil.copyfile(source, f"{target}.tmp"), target)
    return True


PathManager.copy = staticmethod(_copy)


_composed: dict[tuple[str, ...], tuple[list[str], DictConfig]] = {}


def _compose(config_name: str, overrides: list[str], strict: bool) -> DictConfig:
    """hydra's configuration of a call, a second's work: made once for calls that differ in numbers and paths alone."""
    names = tuple(override.partition("=")[0] for override in overrides)
    key = tuple(name if "." in name else override for name, override in zip(names, overrides, strict=True))
    if key not in _composed:
        _composed[key] = overrides, hydra.compose(config_name, overrides=overrides, strict=strict)
    known, config = _composed[key]
    config = copy.deepcopy(config)
    for override in set(overrides).difference(known):
        value = OverridesParser.create().parse_override(override)
        OmegaConf.update(config, value.key_or_group, value.value())
    return config


fairseq.dataclass.utils.compose = _compose


class _FlatAdam(FairseqAdam):
    """fairseq's Adam over all parameters as one vector, which they and their gradients are views of.

    The arithmetic of an element is the same; scaling, clipping and a step are ten operations an update, not ten a
    parameter.
    """

    def __init__(self, cfg: Any, params: Iterable[torch.nn.Parameter]) -> None:
        params = list(params)
        flat = torch.nn.Parameter(torch.nn.utils.parameters_to_vector(params).detach())
        flat.grad = torch.zeros_like(flat)
        sizes = [param.numel() for param in params]
        for param, values, gradients in zip(params, flat.data.split(sizes), flat.grad.split(sizes), strict=True):
            param.data, param.grad = values.view_as(param), gradients.view_as(param)
        super().__init__(cfg, [flat])

    def zero_grad(self) -> None:
        for param in self.params:
            param.grad.zero_()


class _Trainer(trainer.Trainer):
    """The counter of early stopping, an attribute of a function in fairseq, goes with the checkpoint."""

    def _build_optimizer(self) -> None:
        adam = FairseqAdam if self.cuda else _FlatAdam  # with fp16 fairseq's own is flat
        with mock.patch.dict(OPTIMIZER_REGISTRY, adam=adam):
            super()._build_optimizer()

    def save_checkpoint(self, filename: str, extra_state: dict) -> None:
        super().save_checkpoint(filename, extra_state | {"early_stop": dict(vars(fairseq_cli.train.should_stop_early))})

    def load_checkpoint(self, *args: Any, **more: Any) -> dict | None:
        state = super().load_checkpoint(*args, **more)
        vars(fairseq_cli.train.should_stop_early).update((state or {}).get("early_stop", {}))
        return state


fairseq_cli.train.Trainer = _Trainer


def run(command: str, arguments: Sequence[str]) -> None:
    """Run `fairseq-<command>` in this process: preprocess, train, generate, eval_lm, score, validate, interactive.

    What fairseq keeps between calls in attributes of functions (best loss, early stopping) starts afresh. Warnings, of
    hydra and torch about fairseq's use of them, are not shown.
    """
    vars(fairseq_cli.train.should_stop_early).clear()
    vars(checkpoint_utils.save_checkpoint).clear()
    with mock.patch.object(sys, "argv", [f"fairseq-{command}", *arguments]), warnings.catch_warnings(action="ignore"):
        importlib.import_module(f"fairseq_cli.{command}").cli_main()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
