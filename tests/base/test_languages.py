"""Language codes, and what people type in their place."""

import pytest

from bitextbench.base.errors import InputError
from bitextbench.base.languages import CODES, check_language, unknown_language


def test_codes():
    for code in ("gsw", "zh-Hans", "pt_BR", *CODES):
        check_language(code, "--language")


@pytest.mark.parametrize(
    ("given", "remedy"),
    [("german", "did you mean de?"), ("Germn", "did you mean de?"), ("DE", "did you mean de?"), ("de de", "did you mean de?"), ("qq", "give a code")],
)  # fmt: skip
def test_what_is_no_code(given, remedy):
    with pytest.raises(InputError, match=f"--language: unknown language '{given}'; {remedy}".replace("?", r"\?")):
        check_language(given, "--language")


def test_only_known_codes_are_proposed():
    assert str(unknown_language("french", ["de", "en"], "model")) == "model: unknown language 'french'; known: de, en"
