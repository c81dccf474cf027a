"""A GRU layer that is quick to train on CPU, and exact.

`torch.nn.GRU` on CPU leaves the backward pass to autograd, step by step: it adds up the weight gradient once a position and fills
zeros for each slice. Here the weight gradient is one product over all positions, and what does not depend on the position
before is computed for all at once: about twice as fast. Also, torch's sigmoid rounds differently at the end of a block of
memory, so that results would depend on batch size and threads; tanh does not, and sigmoid(x) = (1 + tanh(x / 2)) / 2.
"""

from typing import Any

from bitextbench.device import torch

Tensor = torch.Tensor


class GRU(torch.nn.GRU):
    """One unidirectional layer, with the parameters and the equations of `torch.nn.GRU` (batch_first)."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size, batch_first=True)

    def forward(self, x: Tensor, h0: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """`x` [b, t, E], `h0` [1, b, H] or None (zeros) -> states [b, t, H], last state [1, b, H]."""
        if x.is_cuda or torch.is_autocast_enabled(x.device.type):
            return super().forward(x, h0)
        gates = torch.nn.functional.linear(x.transpose(0, 1), self.weight_ih_l0, self.bias_ih_l0)  # [t, b, 3H]
        start = x.new_zeros(len(x), self.hidden_size) if h0 is None else h0[0]
        h = _States.apply(gates, start, self.weight_hh_l0, self.bias_hh_l0)
        return h.transpose(0, 1), h[-1:]


class _States(torch.autograd.Function):
    """h_t = n + z (h_{t-1} - n), with r, z = sigmoid(..), n = tanh(.. + r (W_n h_{t-1} + b_n)); gates in the order r, z, n."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, start: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        steps, size, hidden = gates.shape[0], gates.shape[1], start.shape[1]
        h = gates.new_empty(steps + 1, size, hidden)  # h[t] is the state before position t
        rz, n, wn = gates.new_empty(steps, size, 2 * hidden), torch.empty_like(h[1:]), torch.empty_like(h[1:])
        h[0] = start
        for t in range(steps):
            w = torch.addmm(bias, h[t], weight.T)
            torch.add(gates[t, :, : 2 * hidden], w[:, : 2 * hidden], out=rz[t])
            rz[t].mul_(0.5).tanh_().mul_(0.5).add_(0.5)
            wn[t] = w[:, 2 * hidden :]
            torch.addcmul(gates[t, :, 2 * hidden :], rz[t, :, :hidden], wn[t], out=n[t]).tanh_()
            torch.lerp(n[t], h[t], rz[t, :, hidden:], out=h[t + 1])
        ctx.save_for_backward(h, rz, n, wn, weight)
        return h[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # type: ignore[override]
        h, rz, n, wn, weight = ctx.saved_tensors
        hidden = n.shape[2]
        r, z = rz[..., :hidden], rz[..., hidden:]
        by_n = (1 - z) * (1 - n * n)  # d h_t / d (argument of tanh)
        by_z = (h[:-1] - n) * z * (1 - z)  # d h_t / d (argument of z)
        by_r = wn * r * (1 - r)  # d (argument of tanh) / d (argument of r)
        d_gates = torch.empty(*n.shape[:2], 3 * hidden, dtype=n.dtype)
        d_w = torch.empty_like(d_gates)
        d_h = torch.zeros_like(h[0])
        for t in range(len(n) - 1, -1, -1):
            d_h = d_h + grad[t]
            d_n = torch.mul(d_h, by_n[t], out=d_gates[t, :, 2 * hidden :])
            torch.mul(d_n, by_r[t], out=d_w[t, :, :hidden])
            torch.mul(d_h, by_z[t], out=d_w[t, :, hidden : 2 * hidden])
            torch.mul(d_n, r[t], out=d_w[t, :, 2 * hidden :])
            d_h = torch.addmm(d_h * z[t], d_w[t], weight)
        d_gates[..., : 2 * hidden] = d_w[..., : 2 * hidden]
        flat = d_w.reshape(-1, 3 * hidden)
        return d_gates, d_h, flat.T @ h[:-1].reshape(-1, hidden), flat.sum(0)
