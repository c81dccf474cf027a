"""Gold pairs and sentences in BUCC's format: ids and text, separated by tabs."""

from collections.abc import Sequence
from pathlib import Path

from bitextbench.base import outputs
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.formats.sentences import Sentences

Gold = list[tuple[str, str]]


def read_gold(path: Path, src: Sentences | None = None, tgt: Sentences | None = None) -> Gold:
    """Pairs of ids. Raises InputError for a line that is not two ids, an unknown id, a repeated pair, and no pairs.

    Without the texts no id is unknown, but white space around one is an error, as it would match none.
    """
    gold: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 2:
            what = "the line does not have two columns between tabs"
            raise InputError(what, path, line=number, remedy="write source id, tab, target id")
        pair = fields[0], fields[1]
        if src is None and (odd := next((name for name in pair if name != name.strip()), None)):
            raise InputError(f"white space is around the id {odd!r}", path, line=number, remedy="remove it")
        check_ids([pair[0]], [pair[1]], src, tgt, path, number)
        if (first := gold.setdefault(pair, number)) != number:
            raise InputError(f"repeats the pair of line {first}", path, line=number, remedy="remove one of them")
    if not gold:
        raise InputError("has no pairs", path, remedy="check that this is the gold file")
    return list(gold)


def check_ids(
    src_ids: Sequence[str],
    tgt_ids: Sequence[str],
    src: Sentences | None,
    tgt: Sentences | None,
    where: str | Path,
    first_line: int = 1,
) -> None:
    """Raises InputError, with the line, for an id that is not in its text; a text that is not given has any id."""
    for side, ids, text in (("source", src_ids, src), ("target", tgt_ids, tgt)):
        for number, name in enumerate(ids, first_line):
            if text is not None and name not in text.index:
                remedy = "check that the source id comes first, and that this file belongs to these texts"
                raise InputError(f"the {side} id {name!r} is not in {text.name}", where, line=number, remedy=remedy)


def write_gold(path: Path, gold: Gold) -> None:
    """Write pairs of ids, or ids and sentences, in BUCC's format."""
    outputs.write_text(path, "".join(f"{a}\t{b}\n" for a, b in gold))


def write_text(path: Path, sentences: Sentences) -> None:
    """Write `id<TAB>sentence` lines. Raises InputError for white space in an id, and a line break in a sentence."""
    for number, (name, text) in enumerate(zip(sentences.ids, sentences.text, strict=True), 1):
        if not name or name.split() != [name] or "\n" in text or "\r" in text:
            raise InputError(
                f"id {name!r} or its sentence does not fit in a line",
                sentences.name,
                line=number,
                remedy="remove white space from ids, and line breaks from sentences",
            )
    write_gold(path, list(zip(sentences.ids, sentences.text, strict=True)))
