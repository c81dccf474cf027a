"""Gold pairs and sentences in BUCC's format: ids and text, separated by tabs."""

from collections.abc import Sequence
from pathlib import Path

from bitextbench.base import outputs
from bitextbench.base.errors import InputError
from bitextbench.base.files import read_lines
from bitextbench.formats.sentences import Sentences

Gold = list[tuple[str, str]]


def read_gold(path: Path, src: Sentences, tgt: Sentences) -> Gold:
    """Pairs of ids. Raises InputError for a line that is not two ids, an unknown id, a repeated pair, and no pairs."""
    gold: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise InputError(
                "line is not `source id<TAB>target id`", path, line=number, remedy="write one pair of ids a line"
            )
        pair = fields[0], fields[1]
        check_ids([pair[0]], [pair[1]], src, tgt, path, number)
        if (first := gold.setdefault(pair, number)) != number:
            raise InputError(f"repeats the pair of line {first}", path, line=number, remedy="remove one of them")
    if not gold:
        raise InputError("has no pairs", path, remedy="is this the gold file?")
    return list(gold)


def check_ids(
    src_ids: Sequence[str],
    tgt_ids: Sequence[str],
    src: Sentences,
    tgt: Sentences,
    where: str | Path,
    first_line: int = 1,
) -> None:
    """Raises InputError, with the line, for an id that is not in its text."""
    for ids, text in ((src_ids, src), (tgt_ids, tgt)):
        for number, name in enumerate(ids, first_line):
            if name not in text.index:
                raise InputError(
                    f"id {name!r} is not in {text.name}",
                    where,
                    line=number,
                    remedy="is the source id first, and is it the gold file of these texts?",
                )


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
