"""Training by fastText, whose threads race: runs differ, and some end in NaN."""

from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log

THREADS = 10  # with fewer, fastText 0.9.3 reads uninitialised memory (its issue 1061)
ATTEMPTS = 6


def train_fasttext(method: str, text: Path, **options: Any) -> Any:
    """The model of fastText's function `method` on a text file, with `options`. A run that ends in NaN is repeated.

    Raises InputError for a text from which fastText cannot learn, and when ATTEMPTS runs fail.
    """
    import fasttext

    for attempt in range(1, ATTEMPTS + 1):
        try:
            return getattr(fasttext, method)(str(text), thread=THREADS, verbose=0, **options)
        except RuntimeError as error:
            log(f"fastText: run {attempt} of {ATTEMPTS} failed ({error})")
        except ValueError as error:
            raise InputError(f"fastText cannot learn ({error})", text, remedy="give it more text") from None
    raise InputError(f"fastText failed {ATTEMPTS} times", text, remedy="give it more text")
