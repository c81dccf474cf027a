"""Language codes of ISO 639, and the English names that people type in their place."""

import difflib
import re
from collections.abc import Iterable

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
yi yiddish, yo yoruba, zh chinese, zu zulu
"""
_OTHERS = """
aa ab ae ak an as av ay ba bi bm bo br ce ch co cr cu cv dv dz ee ff fj fo fy gd gn gv ho hz ia ie ii ik io iu ki kj kl kr ks kv kw lg li ln lu
mh mi na nd ng nr nv ny oc oj om os pi qu rm rn rw sa sc se sg sh sm sn ss st su ti tn to ts tt tw ty ve vo wa wo za
"""
NAMES = {name: code for code, name in (entry.split() for entry in _NAMES.split(","))}  # name -> code
CODES = {*NAMES.values(), *_OTHERS.split()}  # of two letters
_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def check_language(code: str, where: str) -> None:
    """Raises InputError for what cannot be a code, as `german`, with the nearest one; three letters may be any
    language.
    """
    if not _CODE.fullmatch(code) or (len(code) == 2 and code not in CODES):
        raise unknown_language(code, CODES, where)


def unknown_language(given: str, known: Iterable[str], where: str) -> InputError:
    """The error for a language that is not among the `known` codes, with the code that was perhaps meant."""
    known = sorted(known)
    remedy = f"known: {', '.join(known)}" if len(known) < 20 else "give a code of ISO 639, as de"
    close = difflib.get_close_matches(given.lower(), NAMES, 1)
    meant = [code for code in (NAMES[close[0]] if close else "", given.lower()[:2]) if code in known]
    return InputError(
        f"unknown language {given!r}", where, remedy=f"did you mean {meant[0]}? {remedy}" if meant else remedy
    )
