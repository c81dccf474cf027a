"""The trainable similarity of Kim et al. 2019, section 3.3: a small multilayer perceptron on [a; b].

Two hidden layers of 512 with ReLU and one sigmoid output classify pairs as parallel or not. scikit-learn trains them
(section 4). Their eq. 15 writes (1 - log q) where the cross-entropy has log(1 - q): a typo.

Where the paper is silent:

- "Maximum 1,000 updates": scikit-learn has no such limit. We set `max_iter`, which counts epochs, to 1,000. Training
  also stops by scikit-learn's own rule (no gain of 1e-4 in 10 epochs). The optimiser, its rate and its batches are
  scikit-learn's defaults.
- Pairs are ranked by the logit of q. By q itself all pairs of a logit above 16.6 would tie at 1 in float32, and above
  36.7 in float64. The paper's MLP "puts all reasonably similar target sentences to the score 1" (section 4.1). Whether
  they tie there, and which of them is then taken, it does not say.
- Negatives: section 4 takes "the worst-scored sentence pairs" where nothing else is noted. By Table 5 those from the end
  of the best-scored 60% are best, and the configuration has these.
- They are from "the ParaCrawl corpus" (sections 4 and 5.2). Whether before or after the pre-filter of section 4.2 is not
  said. Here it is after: the pool.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench.base.arrays import check_layout, load_npz, save_npz
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.scoring import Pairs, Vectors, checked

NEEDS = ("vectors",)
FIT = "vectors"
OPTIONS = {
    "hidden": {
        "type": "array",
        "items": {"type": "integer", "minimum": 1, "maximum": 65536},
        "minItems": 1,
        "maxItems": 16,
        "default": [512, 512],
    },
    "max_iter": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 1000},
}
LOGITS = True
AGAIN = "fit it again"
BLOCK = bitext.BLOCK  # a pair has the same place in its block for any number of shards: BLAS rounds by place


def fit(src: Vectors, tgt: Vectors, labels: NDArray[np.integer], spec: dict[str, Any], seed: int, out: Path) -> None:
    """Train on pairs `src`, `tgt` [n, d] with `labels` [n] (1 parallel, 0 not) and write the weights to `out` (.npz).

    spec: `hidden` (sizes), `max_iter` (epochs). One BLAS thread: the same bytes for any number of threads.
    Raises InputError when a class is missing or a vector is not finite.
    """
    from sklearn.neural_network import MLPClassifier

    counts = np.bincount(labels, minlength=2)
    if not counts.all():
        raise InputError(
            f"{counts[1]} positive and {counts[0]} negative pairs to learn from", remedy="give pairs of both kinds"
        )
    features = np.concatenate([src, tgt], axis=1)
    if not np.isfinite(features).all():
        raise InputError("training vectors are not finite", remedy="encode again")
    model = MLPClassifier(
        hidden_layer_sizes=tuple(spec["hidden"]), activation="relu", max_iter=spec["max_iter"], random_state=seed
    )
    with threadpool_limits(1):
        model.fit(features, labels)
    log(f"mlp: {counts[1]:,} positive, {counts[0]:,} negative pairs, {model.n_iter_} epochs, loss {model.loss_:.4f}")
    weights = {f"W{i}": w for i, w in enumerate(model.coefs_)} | {f"b{i}": b for i, b in enumerate(model.intercepts_)}
    save_npz(out, **{name: array.astype(np.float32) for name, array in weights.items()})


def read(model: Path) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """The matrix and the bias of each layer that `fit` wrote. Raises InputError for another or a damaged file."""
    held = load_npz(model, AGAIN)
    depth = max(1, sum(name.startswith("W") for name in held))
    sizes = ["vectors", *(f"hidden{i}" for i in range(1, depth)), "1"]
    layout = {f"W{i}": ("f4", f"{sizes[i]} {sizes[i + 1]}") for i in range(depth)}
    check_layout(held, model, AGAIN, layout | {f"b{i}": ("f4", sizes[i + 1]) for i in range(depth)})
    return [(held[f"W{i}"], held[f"b{i}"]) for i in range(depth)]


def score(pairs: Pairs, model: Path | None) -> NDArray[np.float32]:
    """The logit of q(a, b). Raises InputError when the model was trained on vectors of another size."""
    src, tgt = pairs.vectors()
    if model is None:
        raise InputError("the MLP similarity needs a trained model", remedy="fit it first")
    layers = read(model)
    if (needs := layers[0][0].shape[0]) != 2 * src.shape[1]:
        raise InputError(
            f"is for vectors of {needs // 2} dimensions, not {src.shape[1]}",
            model,
            remedy="fit it again with this encoder",
        )
    out = np.empty(len(src), np.float32)
    with threadpool_limits(1):
        for start in range(0, len(src), BLOCK):
            block = slice(start, min(start + BLOCK, len(src)))
            x = np.zeros((BLOCK, needs), np.float32)
            x[: block.stop - start] = np.concatenate([src[block], tgt[block]], axis=1)
            for weight, bias in layers[:-1]:
                x = np.maximum(x @ weight + bias, 0)
            out[block] = (x @ layers[-1][0] + layers[-1][1])[: block.stop - start, 0]
    return checked(out, "mlp")
