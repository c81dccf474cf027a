"""A GPU that is not there: an update of every model of paper scale on torch's device meta, at the sizes of config.yaml."""

from pathlib import Path

import pytest

from bitextbench import encoders
from bitextbench.base.device import MetaCasts, autocast, full, torch
from bitextbench.encoders import costs, trainer
from bitextbench.neighbours import engine, tensors
from bitextbench.report import amounts, plan, updates
from bitextbench.report.settings import paper_scale

CONFIG = paper_scale(Path(__file__).parents[2] / "config.yaml")
DISTINCT = {name: (spec, names) for name, spec, names in updates.distinct(CONFIG)}
RECURRENT = {"nmt_autoencoder", "pivot_nmt", "shared_seq2seq"}
QUICK = {"dan_dual", "nmt_autoencoder", "transformer_bide_am"}  # one of each kind, and each optimizer but L-BFGS


def test_each_encoder_and_rescorer_has_a_line_below_the_limit():
    lines = updates.table()
    assert {name for _, names in DISTINCT.values() for name in names} == {*lines}
    assert max(line.gib for line in lines.values()) <= updates.LIMIT


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in DISTINCT]
)
def test_an_update_waits_for_nothing_fits_a_gpu_and_is_as_the_table_says(name):
    spec, names = DISTINCT[name]
    line = updates.of(name, CONFIG, spec)  # a look at a number, or a tensor left on the CPU, is an error
    assert line.gib <= updates.LIMIT
    assert {updates.table()[same]._replace(encoder=name) for same in names} == {line}
    narrow = spec["training"]["precision"] == "bf16"
    if spec["type"] in RECURRENT or not narrow:
        assert line.float32 > 0.2
    else:
        assert line.float32 < 0.4  # similarities, their gradients, and attention, which has no fused kernel on meta


@pytest.mark.parametrize("both", [False, True])
def test_a_block_of_a_search_waits_for_nothing_before_its_end(monkeypatch, both):
    monkeypatch.setitem(engine.TILE, "cuda", 256)
    monkeypatch.setattr(tensors, "AGAIN", 1 << 16)
    rows, peak = costs.search_peak(1000, 64, 4, both, 1 << 26)
    assert rows == 1000
    width = 4 + engine.SLACK["bf16"]
    lists = (1 + both) * 1000 * width * 12  # a float32 and an int64 each
    assert lists + 2 * 256**2 < peak < 2**22
    real = tensors.Best.add
    for wrong in (
        lambda best, rows, maxima, first: real(best, rows, maxima[(maxima > 0).any(1)], first),
        lambda best, rows, maxima, first: real(best, rows, maxima * maxima.max().item(), first),
        lambda best, rows, maxima, first: real(best, rows, maxima.cpu(), first),
        lambda best, rows, maxima, first: real(best, rows, maxima + torch.ones(len(maxima), 1), first),
    ):
        monkeypatch.setattr(tensors.Best, "add", wrong)
        with pytest.raises((RuntimeError, NotImplementedError), match=r"meta|two devices"):
            costs.search_peak(1000, 64, 4, both, 1 << 26)


@pytest.mark.slow
def test_the_page_has_the_searches_of_today_below_the_limit():
    text = updates.searches(plan.rates()["gpu"])
    assert text in (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")
    assert all(float(line.split(" | ")[5]) <= updates.LIMIT for line in text.splitlines()[2:])


def small(kind: str, precision: str = "bf16", **model) -> tuple[dict, int]:
    training = {"batch": 8, "max_tokens": 20, "precision": precision, "optimizer": "sgd"}
    return {"type": kind, "model": model, "training": training, "corpora": {"bitext": "", "valid": ""}}, 100


def test_recurrent_networks_stay_in_float32():
    spec, size = small("pivot_nmt", embedding=16, hidden=32)
    model = encoders.create(spec, size).to("meta")
    seen = []
    for module in (model.decoder, *model.forwards.values()):
        module.register_forward_hook(lambda module, given, out: seen.append((given[0].dtype, out[0].dtype)))
    target = costs.Shapes.drawn(4, 9, 0).padded([0, 1, 2, 3])
    with autocast(costs.META, torch.bfloat16):
        losses = model.loss(dict.fromkeys(model.sides, (target, target)))
    assert {*seen} == {(torch.float32, torch.float32)}
    assert losses["src"].dtype == torch.float32
    model.to(torch.bfloat16)  # to encode: explicitly narrow, not by autocast
    assert model.encode("src", target).dtype == torch.bfloat16


def test_what_it_says_of_memory_is_what_tensors_take():
    live = costs.Live()
    with live:
        a = torch.empty(1000, device="meta")
        b = a.view(10, 100)[2:]  # shares the memory of a
        c = a + 1
        assert live.bytes == 8000
        del a, c
        assert live.bytes == 4000
        del b
    assert (live.bytes, live.peak) == (0, 8000)


def test_a_wait_and_a_tensor_that_stayed_behind_are_errors(monkeypatch):
    spec, size = small("dan_dual", words=50, embedding=16, layers=[16, 16])
    assert costs.cost(spec, size).peak > 0
    from bitextbench.encoders import losses

    real = losses.softmax
    for wrong, message in (
        (lambda phi, *rest: real(phi, *rest) * phi.max().item(), "meta"),
        (lambda phi, *rest: real(phi[phi > 0][:, None], *rest), "meta"),
        (lambda phi, *rest: real(phi, *rest) + torch.ones(len(phi)), "two devices"),
        (lambda phi, *rest: real(phi, *rest)[torch.arange(len(phi))], "two devices"),
    ):
        monkeypatch.setattr(losses, "softmax", wrong)
        with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=message):
            costs.cost(spec, size)


def test_history_of_lbfgs_is_no_longer_than_is_counted():
    model = torch.nn.Linear(40, 25)
    optimizer = trainer.OPTIMIZERS["lbfgs"](model.parameters())
    x = torch.randn(64, 40, generator=torch.Generator().manual_seed(1))
    for _ in range(3):
        trainer.line_searches(optimizer, lambda: {"loss": _backward((model(x) - x[:, :25].sin()).square().mean())})
    (state,) = optimizer.state.values()
    vectors = sum(part.numel() for part in torch.utils._pytree.tree_leaves(state) if torch.is_tensor(part))
    assert vectors <= (2 * trainer.HISTORY + 4) * sum(p.numel() for p in model.parameters())


def _backward(loss: torch.Tensor) -> torch.Tensor:
    loss.backward()
    return loss


def test_casts_on_meta_are_those_of_torch():
    """The same formats as torch's own autocast gives on a CPU, for what the models use."""
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    functions = [
        lambda x, w: x @ w,
        lambda x, w: torch.nn.functional.linear(x, w),
        lambda x, w: torch.bmm(x[None], w[None]),
        lambda x, w: (x @ w).relu() + 1,
    ]
    for function in functions:
        with autocast(torch.device("cpu"), torch.bfloat16):
            expected = function(x, w).dtype
        with autocast(costs.META, torch.bfloat16):
            assert function(x.to("meta"), w.to("meta")).dtype == expected
            with full(costs.META):
                assert function(x.to("meta"), w.to("meta")).dtype == torch.float32
    assert MetaCasts.now == [False]


def test_sizes_are_those_of_the_features():
    model, size = amounts.sized(CONFIG, CONFIG["encoders"]["dan_dual"])
    assert size == model["words"] + CONFIG["text"]["features"]["words"]["bigrams"]
