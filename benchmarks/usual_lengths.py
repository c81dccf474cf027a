"""The usual lengths of translations against their English: the table of `corpus.words`.

    python benchmarks/usual_lengths.py LASER/data/tatoeba/v1 --declaration udhr/data/udhr

`tatoeba.<code>-eng.<code>` and `.eng` are LASER's test pairs out of Tatoeba (CC-BY 2.0), up to 1,000 of a language; the
declaration is that of human rights in XML (https://www.unicode.org/udhr), which has languages that Tatoeba lacks. Prints a
line for each language: its code, words for each word of English, and characters (white space aside) for each character
of English; languages of the declaration are marked by *. The last line is the characters of an English word.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree

import click

from bitextbench.base.languages import base, is_code, standard

LEAST = 200  # pairs from which a mean is taken
DECLARED = ("bod", "dzo", "lao", "mya", "shn")


def totals(lines: list[str]) -> tuple[int, int]:
    """Words between white space, and characters."""
    return sum(len(line.split()) for line in lines), sum(len("".join(line.split())) for line in lines)


def paragraphs(path: Path) -> list[str]:
    """The titles and paragraphs of a translation of the declaration."""
    elements = ElementTree.parse(path).iter()
    return ["".join(element.itertext()) for element in elements if element.tag.endswith(("}para", "}title"))]


@click.command()
@click.argument("tatoeba", type=click.Path(path_type=Path, exists=True))
@click.option("--declaration", type=click.Path(path_type=Path, exists=True), help="Folder of udhr_<code>.xml.")
def main(tatoeba: Path, declaration: Path | None) -> None:
    """Print the table."""
    rows, words, characters = {}, 0, 0
    for path in sorted(tatoeba.glob("tatoeba.*-eng.eng")):
        code = path.name.split(".")[1].removesuffix("-eng")
        own, english = (
            file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            for file in (path.with_suffix(f".{code}"), path)
        )
        if len(own) != len(english):
            sys.exit(f"{path}: {len(english)} lines, and {len(own)} of {code}")
        if is_code(code) and len(own) >= LEAST:
            (a, b), (c, d) = totals(own), totals(english)
            rows[base(standard(code))] = f"{a / c:.2f} {b / d:.2f}"
            words, characters = words + c, characters + d
    for code in DECLARED if declaration else ():
        (a, b), (c, d) = (totals(paragraphs(declaration / f"udhr_{name}.xml")) for name in (code, "eng"))
        rows[base(code)] = f"{a / c:.2f} {b / d:.2f} *"
    print("\n".join(f"{code} {row}" for code, row in sorted(rows.items())))
    print(f"English: {characters / words:.2f} characters a word")


if __name__ == "__main__":
    main()
