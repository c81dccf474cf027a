"""What the descriptors of a sentence hold, beside what zhang2016's model makes of them: P@1 among the sentences of a
test.

    python benchmarks/descriptors.py --run work/small-encoders --encoder as2mm --ids whole --test newstest2018

needs the ids of the run and its trained encoder (the command stands in config/small-encoders.yaml). Lines: the model's
vectors (eq. 11-12); avg, std, and min with max, each less its mean over the training pairs; all four through canonical
correlations of the training pairs, the first 100. A number a direction, in percent. The last line is of the model's
codes (eq. 6): the cosine of two sentences' on average, and the error of eq. 7-8 beside that of saying the mean always
and that of a linear map, summed over the languages.
"""

from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from bitextbench import encoders
from bitextbench.base.device import setup, torch
from bitextbench.encoders.batches import SentenceIds, batches_of_one_length
from bitextbench.encoders.models.descriptor_autoencoder import Model
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import search

CORRELATIONS = 100
TOKENS = 8192  # together
Array = NDArray[np.float32]


@torch.no_grad()
def described(model: Model, side: str, sentences: SentenceIds) -> list[Array]:
    """What is encoded, what is decoded, the code, what the decoder says, the model's vector: [b, d] each, of all but
    empty sentences.
    """
    found, batches = [], list(batches_of_one_length(sentences.lengths, TOKENS, len(sentences)))
    for rows in batches:
        batch = sentences.padded(rows)
        given, target = model.descriptors(side, batch)
        code = model.code(side, given)
        found.append([each.numpy() for each in (given, target, code, model.decode(code), model.encode(side, batch))])
    back = np.argsort(np.concatenate(batches))
    return [np.concatenate(parts)[back] for parts in zip(*found, strict=True)]


def p_at_1(src: Array, tgt: Array) -> str:
    """Both directions, by the cosine."""
    found = search(Embeddings(src), Embeddings(tgt), 1)
    return "".join(f"{100 * np.mean(side.ids[:, 0] == np.arange(len(src))):6.1f}" for side in found)


def root(square: Array) -> Array:
    """The inverse square root of a symmetric matrix, its small eigenvalues raised to a thousandth of the largest."""
    values, vectors = np.linalg.eigh(square)
    return (vectors / np.sqrt(np.maximum(values, values.max() / 1000))) @ vectors.T


def correlated(src: Array, tgt: Array) -> tuple[Array, Array]:
    """Maps of standardised pairs [n, d] to their first canonical variables, each times its correlation."""
    a, b = (root(side.T @ side / len(side)) for side in (src, tgt))
    u, s, vh = np.linalg.svd(a @ (src.T @ tgt / len(src)) @ b)
    first = slice(CORRELATIONS)
    return a @ u[:, first] * s[first], b @ vh.T[:, first] * s[first]


def linear_error(given: Array, target: Array) -> float:
    """The error of the best linear map, half the squared distance as in eq. 8."""
    x = np.concatenate([given, np.ones_like(given[:, :1])], axis=1)
    return float(np.square(target - x @ np.linalg.lstsq(x, target)[0]).sum(1).mean() / 2)


@click.command(context_settings={"show_default": True})
@click.option("--run", type=click.Path(path_type=Path, exists=True), default=Path("work/small-encoders"))
@click.option("--encoder", default="as2mm")
@click.option("--ids", default="whole", help="The features that the encoder reads.")
@click.option("--test", default="newstest2018")
@click.option("--threads", default=1)
def main(run: Path, encoder: str, ids: str, test: str, threads: int) -> None:
    """P@1 of an encoder's vectors, and of the descriptors that it is given."""
    model = encoders.load(run / "encoders" / encoder / "model.pt", setup(threads))
    assert isinstance(model, Model)
    stems = {part: sorted((run / "features" / ids / part).glob("*.src.ids.npy")) for part in ("bitext", test)}
    trained, tested = (
        {
            side: described(
                model, side, SentenceIds.load(str(p).replace(".src.ids.npy", f".{side}") for p in stems[part])
            )
            for side in model.sides
        }
        for part in stems
    )
    moments, extremes = (0, 1) if model.direction == "as2mm" else (1, 0)
    half = trained["src"][0].shape[1] // 2
    four = {side: np.concatenate(trained[side][:2], 1) for side in model.sides}
    centre, scale = ({side: f(four[side], axis=0) for side in model.sides} for f in (np.mean, np.std))
    print(f"{encoder}, {len(tested['src'][0]):,} of {test}, P@1 src-tgt and tgt-src")
    print(f"vectors (eq. 11-12)     {p_at_1(*(tested[side][4] for side in model.sides))}")
    for name, which, columns in (
        ("avg", moments, slice(half)),
        ("std", moments, slice(half, None)),
        ("min, max", extremes, slice(None)),
    ):
        parts = (tested[side][which][:, columns] - trained[side][which][:, columns].mean(0) for side in model.sides)
        print(f"{name:24}{p_at_1(*parts)}")
    maps = correlated(*((four[side] - centre[side]) / scale[side] for side in model.sides))
    variables = (
        (np.concatenate(tested[side][:2], 1) - centre[side]) / scale[side] @ each
        for side, each in zip(model.sides, maps, strict=True)
    )
    print(f"all four, correlations  {p_at_1(*variables)}")
    cosine = np.mean([np.square(trained[side][2].mean(0)).sum() for side in model.sides])
    error, mean, linear = (
        sum(f(*trained[side][:4]) for side in model.sides)
        for f in (
            lambda given, target, code, said: np.square(target - said).sum(1).mean() / 2,
            lambda given, target, code, said: target.var(0).sum() / 2,
            lambda given, target, code, said: linear_error(given, target),
        )
    )
    print(f"cosine of two codes {cosine:.3f}; error {error:.3f}, of the mean {mean:.3f}, of a linear map {linear:.3f}")


if __name__ == "__main__":
    main()
