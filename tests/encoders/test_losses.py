"""The losses of dual encoders against loops over the formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitextbench.base.device import torch
from bitextbench.encoders import losses

SIMILARITIES = st.tuples(st.integers(1, 5), st.integers(0, 4)).flatmap(
    lambda size: hnp.arrays(np.float64, (size[0], sum(size)), elements=st.floats(-3, 3))
)


def ams(phi: list[list[float]], margin: float, scale: float) -> list[float]:
    """yang2019 eq. 7, with its logarithm: candidate i is the translation of source i."""
    found = []
    for i, row in enumerate(phi):
        positive = math.exp(scale * (row[i] - margin))
        others = sum(math.exp(scale * value) for n, value in enumerate(row) if n != i)
        found.append(-math.log(positive / (positive + others)))
    return found


@settings(deadline=None)
@given(SIMILARITIES, st.floats(0, 1), st.floats(0.1, 10))
def test_softmax_equals_a_loop(phi, margin, scale):
    got = losses.softmax(torch.from_numpy(phi), margin, scale)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got.numpy(), ams(phi.tolist(), margin, scale), rtol=1e-4, atol=1e-4)


@settings(deadline=None)
@given(SIMILARITIES)
def test_calibration_equals_a_loop(logits):
    expected = []
    for i, row in enumerate(logits.tolist()):
        q = [1 / (1 + math.exp(-x)) for x in row]
        expected.append(-np.mean([math.log(p if k == i else 1 - p) for k, p in enumerate(q)]))
    np.testing.assert_allclose(losses.calibration(torch.from_numpy(logits)).numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_gradient_of_the_softmax_is_that_of_differences(margin):
    phi = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def loss(x):  # in double precision: float() would drown the differences
        return -torch.log_softmax(x - margin * torch.eye(3, 5), 1).diagonal().mean()

    x = phi.clone().requires_grad_()
    losses.softmax(x, margin).mean().backward()
    for i in range(3):
        for j in range(5):
            step = torch.zeros(3, 5, dtype=torch.float64)
            step[i, j] = 1e-5
            slope = (loss(phi + step) - loss(phi - step)) / 2e-5
            assert x.grad[i, j].item() == pytest.approx(slope.item(), abs=1e-6)


def test_a_margin_asks_for_more():
    phi = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    values = [losses.softmax(phi, margin).sum().item() for margin in (0.0, 0.1, 0.3, 0.5)]
    assert values == sorted(values)
    assert len(set(values)) == 4


def test_one_pair_alone_has_nothing_to_lose():
    assert losses.softmax(torch.tensor([[0.7]])).tolist() == [0.0]
