"""Words of a sentence, with or without spaces between them, and lengths that can be compared between languages.

A length in words is the number of words between white space. A language without spaces has no such words. There the
length is the number of words that English usually has for so many characters, white space aside.

Two sides are compared in words if both languages have about as many words as English, else in characters.
"""

from collections.abc import Iterable

from bitextbench.base.languages import base, spaced

UNKNOWN = ""  # the language of a line without evidence (digits, signs)
ENGLISH = 4.19  # characters of an English word
_USUAL = """
af 1.07 1.04, ar 0.83 0.85, arq 0.73 0.82, arz 0.74 0.77, az 0.77 1.06, be 0.83 0.99, bg 0.93 1.01, bn 0.93 1.00, bo
0.16 1.41, br 1.06 1.08, bs 0.84 0.96, ca 0.99 1.02, ceb 0.90 1.05, cs 0.80 0.93, cy 1.09 1.10, da 0.98 1.01, de 1.01
1.20, dsb 0.84 0.99, dz 0.21 1.29, el 0.96 1.12, eo 0.91 1.03, es 0.98 1.06, et 0.85 1.01, eu 0.83 1.12, fa 1.02 0.94,
fi 0.75 1.13, fil 0.98 1.20, fo 0.95 1.06, fr 1.12 1.18, ga 1.08 1.14, gd 1.14 1.20, gl 0.92 1.01, he 0.77 0.75, hi
1.10 0.99, hr 0.84 0.95, hsb 0.80 0.96, hu 0.78 1.03, hy 0.91 1.07, ia 1.06 1.11, id 0.89 1.21, ie 1.02 0.99, io 0.92
1.01, is 0.97 1.07, it 0.96 1.10, ja 0.14 0.56, jv 0.85 1.11, ka 0.66 0.98, kk 0.73 0.99, km 0.40 1.10, ko 0.70 0.49,
ku 0.96 0.96, kw 1.03 1.05, la 0.73 0.98, lo 0.24 1.17, lt 0.77 1.03, lv 0.85 1.05, mk 0.92 0.99, ml 0.73 1.36, mn
0.85 1.05, mr 0.89 1.04, ms 0.92 1.24, my 0.70 1.64, nb 0.97 0.99, nds 1.02 1.05, nl 1.02 1.08, nn 0.98 0.98, oc 1.00
1.06, pl 0.79 1.03, pt 1.00 1.08, ro 1.00 1.05, ru 0.87 1.01, shn 0.52 1.63, sk 0.81 0.94, sl 0.84 0.93, sq 1.01 1.04,
sr 0.91 0.97, sv 0.96 1.04, sw 0.67 0.94, ta 0.76 1.38, te 0.77 1.07, th 0.19 0.99, tk 0.69 0.98, tr 0.73 1.07, tt
0.77 1.02, ug 0.70 1.05, uk 0.85 1.01, ur 1.17 0.97, uz 0.70 1.03, vi 1.23 0.98, wuu 0.14 0.38, yi 1.04 1.08, yue 0.13
0.38, zh 0.15 0.38
"""
"""Of a language: its words for a word of English, and its characters for a character of English, in good translations. Measured
on LASER's test pairs out of Tatoeba (107 to 1,000 of a language); of bo, dz, lo, my and shn on the Universal Declaration of Human
Rights (`benchmarks/usual_lengths.py`, which gives ENGLISH, too)."""
USUAL = {code: (float(words), float(chars)) for code, words, chars in (row.split() for row in _USUAL.split(","))}


def words(text: str, language: str) -> list[str]:
    """The tokens of the pre-filter and of noise: text between white space, or characters of an unspaced language."""
    return text.split() if spaced(language) else [*"".join(text.split())]


def join(tokens: Iterable[str], language: str) -> str:
    """The inverse of `words`, up to white space."""
    return (" " if spaced(language) else "").join(tokens)


def usual_characters(language: str) -> float:
    """The characters of good translations for each character of English; 1 for a language that was not measured."""
    return USUAL.get(base(language), (1.0, 1.0))[1]


def counts_words_as_english(language: str) -> bool:
    """Whether good translations have about as many words as English: 0.8 to 1.25 for one."""
    return spaced(language) and 0.8 <= USUAL.get(base(language), (1.0, 1.0))[0] <= 1.25
