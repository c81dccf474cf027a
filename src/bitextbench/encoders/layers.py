"""Transformer layers that do not depend on the number of threads, with the kernels that are fast for sentences."""

import math
from contextlib import nullcontext

from bitextbench.base import torch_internals
from bitextbench.base.device import exact, torch

nn, attention = torch.nn, torch.nn.attention


class Layer(nn.TransformerEncoderLayer):
    """torch's layer, but its gradient does not depend on the number of threads, and bfloat16 on a CPU is faster."""

    def __init__(self, hidden: int, heads: int, filters: int, dropout: float) -> None:
        super().__init__(hidden, heads, filters, dropout, batch_first=True)
        self.norm1, self.norm2 = Norm(hidden), Norm(hidden)

    def forward(
        self,
        src: torch.Tensor,
        src_mask: torch.Tensor | None = None,
        src_key_padding_mask: torch.Tensor | None = None,
        is_causal: bool = False,
    ) -> torch.Tensor:
        """[b, t, H] of `src` [b, t, H]; `src_key_padding_mask` is true in padding, bool [b, t]."""
        if not exact(src.device):
            return self.fused_attention(src, src_key_padding_mask)
        learning = self.training or torch.is_grad_enabled()
        if learning or src_mask is not None or not all(fused(each) for each in (src, self.linear1.weight)):
            # the gradient of flash attention in bfloat16 takes twice as long as all else of the layer
            with attention.sdpa_kernel(attention.SDPBackend.MATH) if learning else nullcontext():
                return super().forward(src, src_mask, src_key_padding_mask, is_causal)
        x = src.flatten(0, 1)  # [b t, H]
        mixed = self.attend(x, src.shape[1], src_key_padding_mask)
        x = self.norm1(product(mixed, self.self_attn.out_proj.weight, self.self_attn.out_proj.bias, plus=x))
        inner = product(x, self.linear1.weight, self.linear1.bias, after="relu")
        return self.norm2(product(inner, self.linear2.weight, self.linear2.bias, plus=x)).view_as(src)

    def fused_attention(self, x: torch.Tensor, padding: torch.Tensor | None) -> torch.Tensor:
        """The layer off a CPU, by torch's fused attention: a mask that is a tensor, and no look at what it holds."""
        own, (b, t, hidden) = self.self_attn, x.shape
        qkv = nn.functional.linear(x, own.in_proj_weight, own.in_proj_bias)
        q, k, v = qkv.view(b, t, 3, own.num_heads, own.head_dim).permute(2, 0, 3, 1, 4)  # [b, heads, t, size] each
        mask = None if padding is None else ~padding[:, None, None].expand(-1, -1, t, -1)
        dropout = own.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        x = self.norm1(x + self.dropout1(own.out_proj(mixed.transpose(1, 2).reshape(b, t, hidden))))
        return self.norm2(x + self._ff_block(x))

    def attend(self, x: torch.Tensor, t: int, padding: torch.Tensor | None) -> torch.Tensor:
        """Attention within sentences of `t` tokens, [b t, H] of `x` [b t, H]; twice as fast as torch's at 25 tokens."""
        heads, size = self.self_attn.num_heads, self.self_attn.head_dim
        qkv = product(x, self.self_attn.in_proj_weight, self.self_attn.in_proj_bias)
        q, k, v = qkv.view(-1, t, 3, heads, size).permute(2, 0, 3, 1, 4).contiguous()  # [b, heads, t, size] each
        logits = (q @ k.transpose(2, 3)).float() / math.sqrt(size)
        if padding is not None:
            logits = logits.masked_fill(padding[:, None, None], -torch.inf)
        return (logits.softmax(3).to(v.dtype) @ v).transpose(1, 2).reshape(x.shape)


def fused(tensor: torch.Tensor) -> bool:
    """Whether `product` can take the tensor: bfloat16 on a CPU for which oneDNN supports it."""
    narrow = tensor.device.type == "cpu" and tensor.dtype == torch.bfloat16
    return narrow and torch_internals.fuses_bf16()


def product(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *, after: str = "none", plus: torch.Tensor | None = None
) -> torch.Tensor:
    """`after`(x weight^T + bias), or x weight^T + bias + `plus`; one pass over the result, where torch takes three."""
    if plus is None:
        return torch_internals.linear(x, weight, bias, after)
    return torch_internals.linear_plus(x, weight, bias, plus)


class Norm(nn.LayerNorm):
    """Layer normalisation whose gradient does not depend on a CPU's number of threads; torch sums its own by thread."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled() or not exact(x.device):
            return super().forward(x)
        return nn.functional.layer_norm(x, self.normalized_shape, eps=self.eps) * self.weight + self.bias
