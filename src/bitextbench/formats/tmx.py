"""Reads TMX (1.1 to 1.4) as a stream of translation units: of each, the text of some languages.

XML is read by expat without external files; a file that declares entities is refused. The text of a segment is that of
`<seg>` and of `<hi>` and `<sub>` in it; what the other inline elements hold (`<bpt>`, `<ept>`, `<it>`, `<ph>`, `<ut>`) is
codes of the original's layout. White space at line ends of the XML is one space.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from bitextbench.base.errors import InputError
from bitextbench.base.languages import matching

CODES = ("bpt", "ept", "it", "ph", "ut")
RECODE = "convert the file to UTF-8, by iconv, and let its first line declare that"
PIECE = 1 << 16  # bytes parsed at a time
_BREAK = re.compile(r"[ \t]*[\r\n]\s*")


class Units:
    """The handlers of an expat parser.

    `done` fills with one list of texts a unit, in the order of `languages`. A text is None if the unit has no segment
    in that language; of several the first. `further`: how many others these units have. `seen`: the codes in the file.
    """

    def __init__(self, languages: Sequence[str], name: str | Path) -> None:
        self.languages, self.name = languages, name
        self.done: list[list[str | None]] = []
        self.seen: set[str] = set()
        self.further = 0
        self.segments: dict[str, list[str]] = {}
        self.language = ""
        self.text: list[str] | None = None  # of the open segment
        self.codes = 0  # open elements whose text is codes
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.parser.SkippedEntityHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "tu":
                self.segments = {}
            case "tuv":
                self.language = attributes.get("xml:lang") or attributes.get("lang") or ""
                self.seen.add(self.language)
            case "seg":
                self.text, self.codes = [], 0
            case _ if tag in CODES and self.text is not None:
                self.codes += 1

    def end(self, tag: str) -> None:
        match tag:
            case "tu":
                found = [matching(language, self.segments) for language in self.languages]
                texts = [self.segments.get(code or "", []) for code in found]
                self.done.append([text[0] if text else None for text in texts])
                self.further += sum(len(text[1:]) for text in texts)
            case "seg" if self.text is not None:
                self.segments.setdefault(self.language, []).append(_BREAK.sub(" ", "".join(self.text)).strip())
                self.text = None
            case _ if tag in CODES and self.text is not None:
                self.codes -= 1

    def characters(self, data: str) -> None:
        if self.text is not None and not self.codes:
            self.text.append(data)

    def entity(self, *_: Any) -> None:
        line = self.parser.CurrentLineNumber
        raise InputError("declares or names an entity of its own", self.name, line=line, remedy="write the text itself")


def units(stream: IO[bytes], held: Units) -> Iterator[list[list[str | None]]]:
    """The translation units of a TMX, some at a time, as `held.done` has them.

    Raises InputError for what is not XML, an entity, a root that is not `tmx`, and at the end for no unit with one of the
    languages.
    """
    name, has = held.name, [False] * len(held.languages)
    try:
        data, first = stream.read(PIECE), True
        while data or first:
            held.parser.Parse(data, not data)
            for unit in held.done:
                has = [had or text is not None for had, text in zip(has, unit, strict=True)]
            yield held.done
            held.done, first = [], bool(data)
            data = stream.read(PIECE) if data else b""
    except expat.ExpatError as error:
        what = f"not XML ({expat.ErrorString(error.code)})"
        raise InputError(what, name, line=error.lineno, remedy="make the file again") from None
    except (LookupError, ValueError) as error:  # of the declaration: expat asks Python for encodings that it lacks
        raise InputError(f"cannot be decoded ({error})", name, line=1, remedy=RECODE) from None
    for language, found in zip(held.languages, has, strict=True):
        if not found:
            there = ", ".join(sorted(held.seen - {""})) or "nothing"
            raise InputError(f"no unit has text in {language}", name, remedy=f"it has {there}")
