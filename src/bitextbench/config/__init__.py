"""The configuration of a run: config.yaml with overlays on top, checked against schema.yaml, and completed.

`overlays.read` reads files, `schema` and `checks` say what is wrong, `resolution.resolve` completes: what comes of it
is a plain mapping, about which `encoders`, `seeds` and `studies` answer questions.
"""

from typing import Any

Config = dict[str, Any]
PRETRAINED = "pretrained"  # the type of an encoder that is not trained in the run
NEGATIVES = "kim2019/table5"  # a table of this place, which `studies.negatives` asks for
FIGURE3 = "kim2019/figure3"  # of probabilities, which `studies.shares` asks for
FIGURE4 = "yang2019/figure4"  # a table of this place, which `studies.margins` asks for
SECTION3 = "kim2019/section3"  # a table of this place, for which `comparison` asks by naming encoders of POOLINGS
POOLINGS = {
    "max": "nmt_autoencoder",
    **{name: f"nmt_autoencoder_{name}" for name in ("mean", "first", "last", "attention")},
}
PRECISION, QUALITY = "precision", "quality"  # tables of our own: scorers by what they select, and by labels
