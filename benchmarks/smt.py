"""The decoder of the hierarchical system: words per second and model score over beams, memory over numbers of rules.

    python benchmarks/smt.py --grammar grammar.tsv.zst --lm language.arpa --source test.src --weights weights.json -o smt.csv

One thread; seconds are the process's CPU time, so that other processes count little; compiling and loading are not in
them. A model score is the mean over sentences, in which nothing but the beam differs. Memory is the peak of a process
of its own that loads the first rules of the grammar.
"""

import csv
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from bitextbench.base.lines import read_lines
from bitextbench.smt import rules as rules_of
from bitextbench.smt.decoder import forest
from bitextbench.smt.words import escaped

FILE = click.Path(path_type=Path)
SPAN = 10  # the most words that a rule spans; Chiang 2007, section 5.3
COLUMNS = ("beam", "words_per_second", "score", "rules", "mib_before", "mib_after")
PEAK = """
import sys
from pathlib import Path
from bitextbench.base.lines import read_lines
from bitextbench.smt.rules import load
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024  # since exec, unlike ru_maxrss
before = peak()
load(Path(sys.argv[1]), Path(sys.argv[2]), read_lines(sys.argv[3]))
print(before, peak())
"""


def decode(rules: rules_of.Rules, weights: dict[str, float], beam: int, sentences: list[int]) -> tuple[float, float]:
    """Words per CPU second, and the mean score of the best derivations."""
    weighted, total = rules.weighted(weights), 0.0
    forest(rules, weighted, weights["lm"], sentences[0], beam, SPAN)
    begin = time.process_time()
    for number in sentences:
        found = forest(rules, weighted, weights["lm"], number, beam, SPAN)
        total += float(found.items.score[found.goal])
    words = sum(int(rules.text.starts[n + 1] - rules.text.starts[n]) for n in sentences)
    return words / (time.process_time() - begin), total / len(sentences)


def memory(grammar: Path, arpa: Path, source: Path, count: int) -> tuple[int, int]:
    """the peak of a process, in MiB, before and after it loads `count` rules."""
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "grammar.tsv"
        part.write_text("".join(f"{line}\n" for line in itertools.islice(read_lines(grammar), count + 1)))
        command = [sys.executable, "-c", PEAK, str(part), str(arpa), str(source)]
        before, after = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(before), int(after)


@click.command()
@click.option("--grammar", type=FILE, required=True)
@click.option("--lm", "arpa", type=FILE, required=True)
@click.option("--source", type=FILE, required=True)
@click.option("--weights", type=FILE, required=True)
@click.option("--sentences", type=int, default=100, help="The first ones that have words.")
@click.option("--beam", "beams", type=int, multiple=True, default=[10, 30, 100, 200, 500])
@click.option("--rules", "counts", type=int, multiple=True, default=[10_000, 100_000, 1_000_000])
@click.option("-o", "--out", type=FILE, required=True)
def main(
    grammar: Path,
    arpa: Path,
    source: Path,
    weights: Path,
    sentences: int,
    beams: tuple[int, ...],
    counts: tuple[int, ...],
    out: Path,
) -> None:
    """Write CSV, a line a measurement."""
    lines = [line for line in map(escaped, read_lines(source)) if line.split()][:sentences]
    rules = rules_of.load(grammar, arpa, lines)
    values = rules_of.read_weights(weights, rules.names)
    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for beam in beams:
            speed, score = decode(rules, values, beam, [*range(len(lines))])
            writer.writerow({"beam": beam, "words_per_second": round(speed, 1), "score": round(score, 4)})
            file.flush()
        for count in counts:
            before, after = memory(grammar, arpa, source, count)
            writer.writerow({"rules": count, "mib_before": before, "mib_after": after})
            file.flush()


if __name__ == "__main__":
    main()
