"""Words of a sentence, with or without spaces between them."""

from collections.abc import Iterable

UNSPACED = {"zh", "ja", "th", "lo", "my", "km"}  # written without spaces: each character counts as a word
UNKNOWN = ""  # the language of a line without evidence (digits, signs)


def words(text: str, language: str) -> list[str]:
    """The tokens of the pre-filter and of noise: text between white space, or characters of an unspaced language."""
    return [*"".join(text.split())] if language in UNSPACED else text.split()


def join(tokens: Iterable[str], language: str) -> str:
    """The inverse of `words`, up to white space."""
    return ("" if language in UNSPACED else " ").join(tokens)
