"""Two texts that are to be mined: whether they seem to be in the languages that they should be in."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bitextbench.base.errors import InputError
from bitextbench.base.languages import matching
from bitextbench.base.progress import log
from bitextbench.corpus.language_id import known, likelier, most_of
from bitextbench.formats.sentences import Sentences

IDENTIFIER = "py3langid"
LOOKED_AT = 200  # lines of a text, to see its language

if TYPE_CHECKING:
    from bitextbench.encoders.interface import SentenceEncoder  # it imports torch


def check_sides(src: Sentences, tgt: Sentences, languages: Sequence[str | None]) -> None:
    """Warn of texts that seem to be `swapped`.

    Raises InputError where both texts hold the same sentences: each would find its own copy.
    """
    if src.text == tgt.text:
        remedy = "give a text of each language"
        raise InputError(f"holds the same sentences as {src.name}", tgt.name, remedy=remedy)
    with contextlib.suppress(OSError):  # py3langid unpacks its model to the disk: a full one is met later, or never
        if swapped(src, tgt, languages):
            log(
                f"warning: {src.name} seems to be in {languages[1]}, and {tgt.name} in {languages[0]}; check that the "
                "texts, or --src-language and --tgt-language, are not swapped"
            )


def swapped(src: Sentences, tgt: Sentences, languages: Sequence[str | None]) -> bool:
    """Whether most of some lines of each text are likelier in the language of the other; false for unknown languages."""
    codes = [language and matching(language, known(IDENTIFIER)) for language in languages]
    own, other = map(str, codes)
    if not all(codes) or own == other:
        return False
    shares = (
        np.mean(likelier(_some(text), wrong, right)) for text, wrong, right in ((src, other, own), (tgt, own, other))
    )
    return all(share > 0.5 for share in shares)


def _some(text: Sentences) -> list[str]:
    """Some lines of a text, evenly spaced."""
    return text.text[:: max(1, len(text) // LOOKED_AT)]


def check_language(text: Sentences, encoder: "SentenceEncoder") -> None:
    """Warn of a text that seems to be in a language that the encoder was not trained on, where it says on which."""
    with contextlib.suppress(OSError):  # as in `check_sides`
        languages = getattr(encoder, "languages", ())
        code = most_of([line for line in _some(text) if line.strip()]) if languages else None
        if code and matching(code, languages) is None:
            log(
                f"warning: {text.name} seems to be in {code}, and {encoder.name} was not trained on it; its languages are "
                f"{', '.join(languages)}"
            )
