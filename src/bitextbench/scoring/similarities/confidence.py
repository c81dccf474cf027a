"""The calibrated confidence of Guo et al. 2018, section 2.4.2 and figure 3: a dot product, scaled and shifted by its
source.

The dual encoder that made the vectors has learned scale and bias with them (`encoders.dan_dual`); it is the model. So
is what `tune` makes of it on pairs that another method finds extreme (section 4.4).

Where the paper is silent:

- Fine-tuning: scale and bias learn, the vectors stay. 2,000 updates of Adam at 0.001 have 512 pairs each.
- A tenth of the extreme pairs is not tuned on: the agreement of section 5 is of these.
"""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import load_npz, save_npz
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring import Pairs, checked

if TYPE_CHECKING:
    import torch

NEEDS = ("vectors", "encoder")
FIT = "scores"
BLOCK = bitext.BLOCK  # a pair has the same place in its block for any number of shards
UPDATES, BATCH = 2000, 512  # of `tune`
Logits = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float32]]


def score(pairs: Pairs, model: Path | None) -> NDArray[np.float32]:
    """The logit of the confidence of each pair. Raises InputError as `calibrated`."""
    src, tgt = pairs.vectors()
    if model is None:
        raise InputError("the confidence needs the model of the encoder", remedy="give its model")
    logits = calibrated(model, src.shape[1])
    parts = [logits(src[at : at + BLOCK], tgt[at : at + BLOCK, None])[:, 0] for at in range(0, len(src), BLOCK)]
    return checked(np.concatenate([np.empty(0, np.float32), *parts]), "confidence")


def probabilities(
    logits_of: Logits,
    src: Embeddings,
    tgt: Embeddings,
    rows: NDArray[np.integer],
    targets: NDArray[np.integer],
    elements: int = 1 << 24,
) -> NDArray[np.float64]:
    """The confidence of the sources at `rows` [n] in k targets, `targets` [n, k] or the same for all [1, k]: float64
    [n, k], 0 to 1.

    `logits_of` comes from `calibrated`. Memory: `elements` of the targets' vectors, and the result.
    """
    out = np.empty((len(rows), targets.shape[1]))
    step = max(1, elements // max(1, targets.shape[1] * tgt.dimension))
    for start in range(0, len(rows), step):
        ids = targets if len(targets) == 1 else targets[start : start + step]
        vectors = tgt.take(ids.reshape(-1)).reshape(*ids.shape, -1)
        logits = logits_of(src.take(rows[start : start + step]), vectors)
        out[start : start + step] = 1 / (1 + np.exp(-logits.astype(np.float64)))
    return out


def calibrated(model: Path, dimension: int) -> Logits:
    """A function of sources [n, d] and k targets of each [n, k, d], or of all [1, k, d]: the logits of their confidence
    [n, k].

    `model`: an encoder, or what `tune` wrote (.npz). Raises InputError for a model without a confidence, or of
    vectors that have not `dimension`.
    """
    from bitextbench.base.device import torch

    calibration = _calibration(model, dimension)

    @torch.inference_mode()
    def logits(src: NDArray[np.float32], tgt: NDArray[np.float32]) -> NDArray[np.float32]:
        u, v = torch.from_numpy(np.array(src)), torch.from_numpy(np.array(tgt))
        scale, bias = calibration(torch.cat([u, u * u], 1)).split(1, 1)  # [n, 1]
        return (scale * torch.einsum("nkd,nd->nk", v, u) + bias).numpy()

    return logits


def _calibration(model: Path, dimension: int) -> "torch.nn.Linear":
    """Scale and bias from [u, u^2]."""
    from bitextbench.base.device import setup
    from bitextbench.encoders import load

    where = setup(1)
    calibration = _tuned(model) if model.suffix == ".npz" else getattr(load(model, where), "calibration", None)
    if calibration is None:
        raise InputError("has no calibrated confidence", model, remedy="train a dan_dual with `confidence: 0.1`")
    if 2 * dimension != calibration.in_features:
        what = f"is for vectors of {calibration.in_features // 2} dimensions, not {dimension}"
        raise InputError(what, model, remedy="encode the corpus with this model")
    return calibration


def _tuned(path: Path) -> "torch.nn.Linear":
    """What `tune` wrote."""
    from bitextbench.base.device import torch

    held = load_npz(path, "tune it again", {"weight": ("f4", "2 vectors"), "bias": ("f4", "2")})
    weights = {name: torch.from_numpy(held[name]) for name in ("weight", "bias")}
    calibration = torch.nn.Linear(weights["weight"].shape[1], 2)
    calibration.load_state_dict(weights)
    return calibration


class Extremes(NamedTuple):
    """Pairs that another method finds extreme: their `rows` [m] in random order, which are `good` [m]; the first `held`
    are held out.
    """

    rows: NDArray[np.int64]
    good: NDArray[np.bool_]
    held: int


def extremes(scores: NDArray[np.float32], best: float, worst: float, seed: int) -> Extremes:
    """The `best` share of the pairs by their scores [n], and as many drawn of the `worst` share; a tenth, at least
    one, is held out.
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((np.arange(len(scores)), -scores))
    good = order[: max(1, round(best * len(order)))]
    tail = order[len(good) :][-max(1, round(worst * len(order))) :]  # shares may overlap
    bad = rng.choice(tail, min(len(good), len(tail)), replace=False)
    rows = rng.permutation(np.concatenate([good, bad]))
    return Extremes(rows, np.isin(rows, good), max(1, len(rows) // 10))


def tune(
    model: Path,
    src: Embeddings,
    tgt: Embeddings,
    scores: NDArray[np.float32],
    spec: Mapping[str, float],
    seed: int,
    out: Path,
) -> None:
    """Fine-tune the confidence of an encoder on the pairs [n] that other `scores` find extreme: guo2018 section 4.4.

    spec: `best` and `worst` of `extremes`. (The paper takes the top 1% and the bottom 50% by Zipporah.) Scale and bias
    learn, the vectors stay: cross-entropy, Adam at 0.001, UPDATES; the paper does not say how. Raises InputError when
    scores and vectors differ in number, and as `calibrated`.
    """
    from bitextbench.base.device import torch

    check_scored(src, tgt, scores)
    calibration, chosen = _calibration(model, src.dimension), extremes(scores, **spec, seed=seed)
    learned = chosen.rows[chosen.held :]
    wanted = torch.from_numpy(chosen.good[chosen.held :].astype(np.float32))
    u, v = (torch.from_numpy(side.take(learned)) for side in (src, tgt))
    optimizer = torch.optim.Adam(calibration.parameters(), lr=0.001)
    for start in itertools.islice(itertools.cycle(range(0, len(learned), BATCH)), UPDATES):
        part = slice(start, start + BATCH)
        scale, bias = calibration(torch.cat([u[part], u[part] ** 2], 1)).T
        logits = scale * (u[part] * v[part]).sum(1) + bias
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted[part]).backward()
        optimizer.step()
    save_npz(out, weight=calibration.weight.detach().numpy(), bias=calibration.bias.detach().numpy())


def check_scored(src: Embeddings, tgt: Embeddings, scores: NDArray[np.float32]) -> None:
    if not len(src) == len(tgt) == len(scores):
        what = f"{len(scores):,} scores for {len(src):,} and {len(tgt):,} vectors"
        raise InputError(what, src.name, remedy="encode and score one corpus")
