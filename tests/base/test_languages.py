"""Language codes, and what people type in their place."""

import pytest

from bitextbench.base.errors import InputError
from bitextbench.base.languages import (
    NAMES,
    base,
    check_language,
    macro,
    matching,
    other_script,
    script,
    spaced,
    unknown_language,
)


def test_codes_have_one_standard_form():
    given = {"gsw": "gsw", "zh-Hans": "zh-Hans", "pt_BR": "pt-BR", "DE": "de", "deu": "de", "ger": "de", "de_DE": "de-DE", "zho": "zh", "cmn": "zh", "zh_CN": "zh-CN", "zho_Hant": "zh-Hant", "jpn": "ja", "tha": "th", "arb": "ar", "pes": "fa", "iw": "he", "yue": "yue"}  # fmt: skip
    assert {code: check_language(code, "--language") for code in given} == given
    for code in NAMES.values():
        assert check_language(code, "--language") == ("fil" if code == "tl" else code)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [("german", "did you mean de?"), ("Germn", "did you mean de?"), ("de de", "did you mean de?"), ("deutsch", "did you mean de?"), ("jp", "did you mean ja?"), ("cz", "did you mean cs?"), ("chinese", "did you mean zh?"), ("zh-hanz", "did you mean zh?"), ("en_GB.UTF-8", "did you mean en?"), ("qq", "give a code"), ("", "give a code"), ("-de", "did you mean de?"), ("de-", "did you mean de?")],
)  # fmt: skip
def test_what_is_no_code(given, remedy):
    with pytest.raises(InputError, match=f"--language: unknown language '{given}'; {remedy}".replace("?", r"\?")):
        check_language(given, "--language")


def test_only_known_codes_are_proposed():
    assert str(unknown_language("french", ["de", "en"], "model")) == "model: unknown language 'french'; known: de, en"
    assert "did you mean deu?" in str(unknown_language("german", ["deu", "eng"], "model"))


@pytest.mark.parametrize(
    ("code", "known", "found"),
    [("deu", ["de", "en"], "de"), ("de-AT", ["de"], "de"), ("de", ["deu_Latn"], "deu_Latn"), ("zh", ["cmn", "en"], "cmn"), ("zh-TW", ["zho_Hans", "zho_Hant"], "zho_Hant"), ("zh", ["zho_Hant", "zho_Hans"], "zho_Hans"), ("yue", ["zh", "ja"], "zh"), ("yue", ["zh", "yue"], "yue"), ("nb", ["no", "da"], "no"), ("no", ["nb", "sv"], "nb"), ("hr", ["sr", "bs"], None), ("de", ["nl"], None), ("de", [], None)],
)  # fmt: skip
def test_the_known_code_of_a_language(code, known, found):
    assert matching(code, known) == found


def test_scripts_say_whether_there_are_spaces():
    unspaced = [
        "zh",
        "zh-Hans",
        "zho",
        "cmn",
        "yue",
        "wuu",
        "ja",
        "jpn",
        "th",
        "tha",
        "lo",
        "km",
        "my",
        "bo",
        "dz",
        "shn",
    ]
    assert not any(map(spaced, unspaced))
    assert all(map(spaced, ["de", "ko", "vi", "hi", "ar", "zh-Latn", "ja-Latn", "", "nonsense"]))
    assert (script("zh-TW"), script("sr"), base("zh_CN"), macro("yue"), macro("de")) == (
        "Hant",
        "Cyrl",
        "zh",
        "zh",
        "de",
    )


@pytest.mark.parametrize(
    ("text", "codes", "found"),
    [
        ("Das ist ein Satz.", ["de"], None),
        ("Это предложение.", ["de"], "cyrillic"),
        ("Das ist ein Satz.", ["ru"], "latin"),
        ("これは文です。", ["ja"], None),
        ("这是一句话。", ["ja"], None),  # Han alone: short sentences of Japanese are
        ("これは文です。", ["zh"], "hiragana"),
        ("यह एक वाक्य है", ["de", "zh", "ar"], "devanagari"),
        ("यह एक वाक्य है", ["de", "hi"], None),
        ("1234 !?", ["ru"], None),
        ("", ["ru"], None),
        ("Windows 95 и Linux", ["ru"], "latin"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", ["chr"], None),  # a script that the table does not have
        ("Das", [], None),
    ],
)
def test_the_script_of_a_text(text, codes, found):
    assert other_script([text], codes) == found
    assert other_script([""] * 3 + [text], codes) == found
