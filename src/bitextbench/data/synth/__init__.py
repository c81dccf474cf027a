"""The embedded corpus: parallel documents in six languages, generated from typed lexica by a small synchronous grammar.

`meaning` draws the contents of a document as language-independent trees. A module for each language turns trees into
sentences. The `.tsv` tables are the lexicon. Trees are drawn first, so that the text of a language does not depend on
the other languages.
"""

import itertools
import random
from collections.abc import Iterator, Sequence

from bitextbench.base.errors import InputError
from bitextbench.data.synth.chinese import Chinese
from bitextbench.data.synth.english import English
from bitextbench.data.synth.french import French
from bitextbench.data.synth.german import German
from bitextbench.data.synth.grammar import Language
from bitextbench.data.synth.meaning import draw_document
from bitextbench.data.synth.russian import Russian
from bitextbench.data.synth.spanish import Spanish

__all__ = ["LANGUAGES", "sentences"]

LANGUAGES: dict[str, type[Language]] = {
    language.code: language for language in (English, German, French, Spanish, Russian, Chinese)
}


def sentences(stretch: str, languages: Sequence[str], seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """An endless stream of (document id, the sentence in each of `languages`).

    Streams of different `stretch` names are independent draws: they share the lexicon and, by chance, a few sentences.
    The same (stretch, seed) gives the same text in a language, whatever the other languages are.
    Raises InputError, at the call, for a language without a grammar.
    """
    if unknown := [language for language in languages if language not in LANGUAGES]:
        known = ", ".join(LANGUAGES)
        raise InputError(f"the generated corpus has no language {', '.join(unknown)}", remedy=f"known: {known}")
    return _stream(stretch, [LANGUAGES[language]() for language in languages], seed)


def _stream(stretch: str, speakers: list[Language], seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    for number in itertools.count():
        document = f"{stretch}-{number}"
        for meaning in draw_document(random.Random(f"{seed} {document}")):
            yield document, tuple(speaker.sentence(meaning) for speaker in speakers)
