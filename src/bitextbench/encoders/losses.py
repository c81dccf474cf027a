"""Losses of dual encoders: each function is one formula, with one value for each example."""

from bitextbench.base.device import torch


def softmax(similarity: torch.Tensor, margin: float = 0.0, scale: float = 1.0) -> torch.Tensor:
    """In-batch softmax with an additive margin, float32 [b], in nats.

    `similarity` [b, c], c >= b: row i compares source i with all candidates. Candidate i is its translation; those from
    b on are negatives for all rows (guo2018 section 2.3). guo2018 eq. 2 and yang2019 eq. 3 have `margin` 0, yang2019
    eq. 7 another one (it lacks the logarithm, as eq. 4 does: a typo). `scale` multiplies all logits, as s in Wang et
    al. 2018; it is 1 in both papers.
    """
    logits = scale * (similarity.float() - margin * torch.eye(*similarity.shape, device=similarity.device))
    positives = torch.arange(len(similarity), device=similarity.device)
    return torch.nn.functional.cross_entropy(logits, positives, reduction="none")


def calibration(logits: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy of each row of confidences, float32 [b], in nats: guo2018 sections 2.4.2 and 3.2.

    `logits` [b, c]: candidate i of row i is the positive one, all others are negatives; the mean is over c.
    """
    truth = torch.eye(*logits.shape, device=logits.device)
    return torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), truth, reduction="none").mean(1)
