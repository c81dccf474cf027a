"""Language codes: BCP 47, ISO 639-1 and 639-3, with scripts and regions, in one table (that of `langcodes`).

A code has one standard form: `zh_CN` is zh-CN, `jpn` is ja, `cmn` is zh, `zho_Hans` is zh-Hans. The program compares languages
by `base` (the language without script and region) or by `matching` (the code by which a model, a file or a table knows a
language), never by the text of a code.
"""

import difflib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache
from itertools import chain, islice
from typing import Any

from langcodes import Language, standardize_tag
from langcodes.data_dicts import MACROLANGUAGES
from langcodes.tag_parser import LanguageTagError

from bitextbench.base.errors import InputError

_NAMES = """
af afrikaans, am amharic, ar arabic, az azerbaijani, be belarusian, bg bulgarian, bn bengali, bs bosnian, ca catalan, cs czech, cy welsh,
da danish, de german, el greek, en english, eo esperanto, es spanish, et estonian, eu basque, fa persian, fi finnish, fr french, ga irish,
gl galician, gu gujarati, ha hausa, he hebrew, hi hindi, hr croatian, ht haitian, hu hungarian, hy armenian, id indonesian, ig igbo,
is icelandic, it italian, ja japanese, jv javanese, ka georgian, kk kazakh, km khmer, kn kannada, ko korean, ku kurdish, ky kyrgyz, la latin,
lb luxembourgish, lo lao, lt lithuanian, lv latvian, mg malagasy, mk macedonian, ml malayalam, mn mongolian, mr marathi, ms malay,
mt maltese, my burmese, nb bokmal, ne nepali, nl dutch, nn nynorsk, no norwegian, or oriya, pa punjabi, pl polish, ps pashto, pt portuguese,
ro romanian, ru russian, sd sindhi, si sinhala, sk slovak, sl slovenian, so somali, sq albanian, sr serbian, sv swedish, sw swahili, ta tamil,
te telugu, tg tajik, th thai, tk turkmen, tl tagalog, tr turkish, ug uyghur, uk ukrainian, ur urdu, uz uzbek, vi vietnamese, xh xhosa,
yi yiddish, yo yoruba, zh chinese, zu zulu, bo tibetan, dz dzongkha, yue cantonese, fa farsi, zh mandarin, my myanmar,
de deutsch, fr francais, es espanol, it italiano, pt portugues, nl nederlands, sv svenska, pl polski, cs cestina, tr turkce, fi suomi, hu magyar
"""
_REGIONS = {
    "jp": "ja", "cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "ua": "uk", "kr": "ko", "tw": "zh-TW", "vn": "vi",
    "ir": "fa",
}  # fmt: skip
"""What people type in place of a code: that of a country."""
NAMES = {name: code for code, name in (entry.split() for entry in _NAMES.split(","))}  # name -> code
UNSPACED = {
    "Hans", "Hant", "Hani", "Jpan", "Hrkt", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Lana", "Tale",
    "Talu", "Yiii",
}  # fmt: skip
"""Scripts without spaces between words (ISO 15924)."""
_SCRIPTS = """
Latn LATIN, Cyrl CYRILLIC, Grek GREEK, Arab ARABIC, Hebr HEBREW, Armn ARMENIAN, Geor GEORGIAN, Ethi ETHIOPIC, Hans CJK, Hant CJK, Hani CJK,
Jpan CJK HIRAGANA KATAKANA, Kore HANGUL CJK, Thai THAI, Laoo LAO, Khmr KHMER, Mymr MYANMAR, Tibt TIBETAN, Deva DEVANAGARI, Beng BENGALI,
Taml TAMIL, Telu TELUGU, Knda KANNADA, Mlym MALAYALAM, Gujr GUJARATI, Guru GURMUKHI, Orya ORIYA, Sinh SINHALA
"""
_LETTERS = {code: frozenset(names) for code, *names in (entry.split() for entry in _SCRIPTS.split(","))}
"""Of a script, the first words of the names that Unicode gives its letters."""
LOOKED_AT = 20_000  # characters of a text, to see its script


@cache
def standard(code: str) -> str:
    """The standard form of a code: BCP 47, the shortest code of the language, individual languages of a macrolanguage that
    stand for it (Mandarin, Standard Arabic) as that. What is no code stays as it is.
    """
    try:
        return standardize_tag(code, macro=True)
    except LanguageTagError:
        return code


@cache
def base(code: str) -> str:
    """The language of a code, without script and region."""
    return standard(code).split("-")[0]


@cache
def macro(code: str) -> str:
    """The macrolanguage of a code (zh of Cantonese, no of Nynorsk), or its language."""
    return MACROLANGUAGES.get(base(code), base(code))


@cache
def script(code: str) -> str:
    """The script of a code, as it says or as the language usually has it: Hant of zh-TW; "" for what is no code."""
    try:
        return Language.get(standard(code)).maximize().script or ""
    except LanguageTagError:
        return ""


def other_script(lines: Iterable[str], codes: Collection[str]) -> str | None:
    """The script of most letters at the beginning of a text, in lower case, if it is foreign to these languages.

    It is foreign if fewer than half of the letters are of their scripts. None if half are, if there are no letters, or
    if the table lacks the script of a language.
    """
    expected = [_LETTERS.get(script(code)) for code in codes]
    if not expected or None in expected:
        return None
    characters = islice(chain.from_iterable(lines), LOOKED_AT)
    found = Counter(unicodedata.name(c, "").partition(" ")[0] for c in characters if c.isalpha())
    known = sum(found[name] for name in frozenset().union(*filter(None, expected)))
    return found.most_common(1)[0][0].lower() if 2 * known < found.total() else None


def spaced(code: str) -> bool:
    """Whether the language is written with spaces between words."""
    return script(code) not in UNSPACED


def _written(code: str) -> tuple[str, str]:
    return base(code), script(code)


def is_code(code: str) -> bool:
    """Whether this is a code of a language that exists."""
    try:
        return code[:1].isalpha() and Language.get(code).is_valid()
    except LanguageTagError:
        return False


def matching(code: str, known: Collection[str]) -> str | None:
    """The one of the `known` codes that means the language; None if there is none.

    Tried in this order: the same code, its standard form, the same language in the same script, the same language, its
    macrolanguage, one of the languages that it stands for.
    """
    if code in known:
        return code
    forms: tuple[Callable[[str], Any], ...] = (standard, _written, base)
    for form in forms:
        if found := [other for other in known if form(other) == form(code)]:
            return min(found)
    family = [other for other in known if macro(other) == macro(code) and macro(code) in (base(code), base(other))]
    return min(family, default=None)


def check_language(code: str, where: str) -> str:
    """The standard form of a code. Raises InputError for what is no code, as `german`, with the nearest one."""
    if not is_code(code):
        raise unknown_language(code, NAMES.values(), where)
    return standard(code)


def unknown_language(given: str, known: Iterable[str], where: str) -> InputError:
    """The error for a language that is not among the `known` codes, with the code that was perhaps meant."""
    known = sorted(set(known))
    remedy = (
        f"known: {', '.join(known)}" if len(known) < 20 else "give a code of ISO 639 or BCP 47, as de, deu, zh-Hans"
    )
    word = given.lower().replace("_", "-").strip("- ")
    close = difflib.get_close_matches(word, NAMES, 1)
    guesses = [_REGIONS.get(word, ""), NAMES[close[0]] if close else "", word.split("-")[0], word[:2], base(given)]
    meant = next((found for guess in guesses if guess and (found := matching(guess, known))), None)
    return InputError(
        f"unknown language {given!r}", where, remedy=f"did you mean {meant}? {remedy}" if meant else remedy
    )
