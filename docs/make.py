"""Write what README.md and docs/ generate: tables and pictures from committed CSVs, data sets from the registry,
methods from the docstrings of the modules.

    python docs/make.py          (or `make docs`)

`templates/<name>.md.j2` becomes `<name>.md`: sentences are written by hand, numbers come from `results/` and from
`docs/tiny/`, the results of the golden run, and `docs/full/`, those of `make full`. In README.md only the lines between
two marks are replaced.
tests/test_docs.py says when a file is out of date.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import jinja2
import pandas
import yaml

from bitextbench.cli.report import shown
from bitextbench.data import registry
from bitextbench.evaluation import bucc
from bitextbench.evaluation.selections import Step, read_distribution
from bitextbench.formats import mined_pairs, records
from bitextbench.formats.gold import read_gold
from bitextbench.report import answers as report_answers
from bitextbench.report import encoders, leaderboard, plots, replication
from bitextbench.report.audit import Judgement, of_q
from bitextbench.report.references import PAPERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = {run: DOCS / run for run in ("tiny", "full")}  # the other runs: results/<run>
START, END = "<!-- generated: make docs -->", "<!-- end -->"
TABLES = report_answers.Tables(ROOT / "results", RESULTS)
PUBLISHED = {"published-muse": "mUSE", "published-e5": "e5-small"}  # encoders by run
ENCODERS = {"small": "encoders trained here", "warm": "encoders from mUSE's words", **PUBLISHED}
VERDICTS = ("holds", "fails", "mixed", "level", "undecided", "out of regime", "scale not comparable", "not run")
COUNTED = ("holds", "fails", "level", "undecided")  # verdicts of the instances that count
NOT_TEXT = r"^(one seed|printed as|at paper scale|\w+ table \d|the first \d$)"  # notes that do not say what text it is
THRESHOLDS = {  # on what a threshold of mining has the best F1, by the signature of a metric
    "threshold:best F1 on these pairs": "these very pairs",
    "threshold:two-fold": "the other half of the pairs",
}
Cells = dict[tuple[str, str], dict[str, str]]  # row, column -> a line of the CSV


def documents() -> dict[Path, str]:
    """What each generated file is to hold."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.globals |= {
        "ours": ours, "so": so, "table": table, "captioned": captioned, "published": published, "boards": boards, "bucc_sample": bucc_sample, "precision": precision, "training": training, "orders": orders, "lines_of": lines_of, "rows": read, "ranked": ranked, "number": number, "claims": claims, "claim_tables": claim_tables, "answers": answers, "costs": costs, "verdicts": verdicts, "audit": audit, "machines": machines,
        "registry": data_sets, "size": size, "total": total, "verified": verified, "notes": notes, "method": method, "choices": choices,
    }  # fmt: skip
    pages = {
        DOCS / template.removesuffix(".j2"): re.sub("\n{3,}", "\n\n", environment.get_template(template).render())
        for template in environment.list_templates()
    }
    return pages | pictures() | board() | {ROOT / "README.md": readme((ROOT / "README.md").read_text(encoding="utf-8"))}


# ---- tables of results


@cache
def read(name: str) -> list[dict[str, str]]:
    """The lines of `<run>/<table>`, by column."""
    return pandas.read_csv(csv_of(name), dtype=str, keep_default_na=False).to_dict("records")


def csv_of(name: str) -> Path:
    run, _, place = name.partition("/")
    return RESULTS.get(run, ROOT / "results" / run) / f"{place}.csv"


def orders(name: str) -> str:
    """Which two rows of a Table 2 are in the paper's order, in Markdown."""
    return "".join(f"- {line}\n" for line in re.findall(r"^  (\w+ < \w+ .+)$", shown(csv_of(name), ""), flags=re.M))


def lines_of(name: str, pattern: str) -> str:
    """The lines that `show` prints of a file of claims or instances in which `pattern` is found."""
    return "\n".join(line for line in shown(csv_of(name), "").splitlines() if re.search(pattern, line))


def cells(name: str) -> Cells:
    return {(line["row"], line["column"]): line for line in read(name)}


def number(value: str, digits: int = 1) -> str:
    return f"{float(value):.{digits}f}"


def ours(name: str, row: str, column: str, digits: int = 1) -> str:
    """Our number in a cell, with its spread where there are several seeds."""
    line = cells(name)[row, column]
    return number(line["ours"], digits) + (f" ± {number(line['spread'], digits)}" if line["spread"] else "")


def table(name: str, keep: str = "") -> str:
    """A table in Markdown, of the rows in which `keep` is found. Those without a number of ours are left out, and named
    below, as the words of budgets are, the number of seeds where there are several, and the files.
    """
    found = {key: line for key, line in cells(name).items() if re.search(keep, key[0])}
    rows, columns = (list(dict.fromkeys(key[axis] for key in found)) for axis in (0, 1))
    full = {key for key, line in found.items() if line["ours"]}
    labels = {line["row"]: line["row_label"] for line in found.values()}
    shown = [column for column in columns if any((row, column) in full for row in rows)]
    lines = [["", *shown]]
    for row in rows:
        if any((row, column) in full for column in shown):
            lines.append([labels[row], *(cell(found.get((row, column))) for column in shown)])
    empty = [labels[row] for row in rows if not any((row, column) in full for column in shown)]
    text = markdown(lines)
    for what, missing in (("rows", empty), ("columns", [column for column in columns if column not in shown])):
        if missing:
            text += f"\nNot in this run, {what}: {', '.join(f'`{name}`' for name in missing)}.\n"
    seeds = {len(line["seeds"].split()) for line in found.values() if line["seeds"]} - {1}
    words = budgets(next(iter(found.values()))["scale"], shown)
    said = [*words, *(f"{count} seeds" for count in seeds), sources(name)]
    return f"{text}\n{'. '.join(said)}.\n"


def sources(name: str) -> str:
    """Links from a page of docs/tables/ to the file of a table, and to its provenance if it is kept."""
    file = csv_of(name)
    kept = {file.relative_to(ROOT): file, "provenance": file.with_suffix(".provenance.json")}
    return ", ".join(f"[{text}](../../{path.relative_to(ROOT)})" for text, path in kept.items() if path.exists())


def budgets(scale: str, columns: Sequence[str]) -> list[str]:
    """What the papers' budgets that columns are named after are at this scale: a sentence, or none."""
    lines = read(f"{scale}/table2") if any(re.match(r"\d+M\b", column) for column in columns) else []
    words = {line["budget"]: int(line["budget_words"]) for line in lines if line["budget_words"]}
    named = [name for name in words if any(re.match(rf"{name}\b", column) for column in columns)]
    return ["Here " + ", and ".join(f"{name} is {words[name]:,} words" for name in named)] if named else []


def captioned(name: str) -> str:
    """A table of a paper in Markdown, below a line that says what its numbers are, and of which text."""
    found = [line for line in read(name) if line["ours"]]
    printed = pandas.read_csv(ROOT / f"references/{found[0]['paper_table']}.csv", dtype=str)
    unit_of = dict(zip(zip(printed["row"], printed["column"], strict=True), printed["unit"], strict=True))
    units = list(dict.fromkeys(unit_of.get((line["row"], line["column"])) for line in found))
    names = [unit.replace(" [%]", "").replace("[M]", "in millions") for unit in filter(None, units)]
    signatures = {part for line in found for part in line["signature"].split("|")}
    thresholds = " or ".join(words for part, words in THRESHOLDS.items() if part in signatures)
    said = [
        ", ".join(names) + ("" if "BLEU" in names else " in percent"),
        *(["lower is better"] if "error rate" in names else []),
        *([f"at the threshold with the best F1 on {thresholds}"] if thresholds else []),
    ]
    return f"{capital(', '.join(said))}.{on_text(name)}\n\n{table(name)}"


def published(place: str, keep: str = "") -> str:
    """The same table of the runs after the first, and on which text; "" where none has a number."""
    text = ""
    for run, encoder in [*ENCODERS.items()][1:]:
        if csv_of(name := f"{run}/{place}").exists() and any(
            line["ours"] and re.search(keep, key[0]) for key, line in cells(name).items()
        ):
            text += f"With **{encoder}** (`results/{run}`).{on_text(name)}\n\n{table(name, keep)}\n"
    return text


def on_text(name: str) -> str:
    """What the notes of a table say of its text: those that all rows of a column have, and of which columns, where it is
    not all.
    """
    noted: dict[str, list[set[str]]] = {}
    for line in filter(itemgetter("ours"), read(name)):
        noted.setdefault(line["column"], []).append(set(line["note"].split("; ")))
    found: dict[str, list[str]] = {}
    for column, notes_of in noted.items():
        for note in sorted(set.intersection(*notes_of)):
            if note and not re.match(NOT_TEXT, note):
                found.setdefault(note, []).append(column)
    said = (note + ("" if len(of) == len(noted) else f" ({', '.join(of)})") for note, of in found.items())
    return "".join(f" {capital(one)}." for one in said)


def boards(columns: str) -> list[dict[str, str]]:
    """The lines of the published encoders' leaderboards whose column matches."""
    return [line for run in PUBLISHED for line in read(f"{run}/leaderboard") if re.search(columns, line["column"])]


def bucc_sample(encoder: str) -> str:
    """The F1 of a published encoder on the sample of BUCC, as the leaderboard has it; "" where it was not measured."""
    (found, *_) = [*(number(line["ours"]) for line in boards("^bucc/zh-en$") if line["row"] == encoder), ""]
    return found


def precision(name: str) -> str:
    """The precision of what each row of a Table 2 selects, by budget, in Markdown."""
    known = filter(itemgetter("precision"), read(name))
    shares = {(line["row_label"], line["budget"]): f"{100 * float(line['precision']):.1f}%" for line in known}
    return grid("precision of the selected words", shares)


def training(name: str) -> str:
    """The training pairs of each translation model of a table, with the share of good ones where it is known, in Markdown."""
    pairs = {}
    for line in filter(itemgetter("pairs_selected"), read(name)):
        good = f", {100 * float(line['precision']):.0f}% good" if line["precision"] else ""
        pairs[line["row_label"], line["column"]] = f"{int(line['pairs_selected']):,}{good}"
    return grid("training pairs", pairs)


def grid(head: str, texts: Mapping[tuple[str, str], str]) -> str:
    """Texts by row and column, in Markdown."""
    rows, columns = (list(dict.fromkeys(key[axis] for key in texts)) for axis in (0, 1))
    body = ([row, *(texts.get((row, column), "") for column in columns)] for row in rows)
    return markdown([[head, *columns], *body])


def so(sentence: str, name: str, predicate: str, **variables: list[str]) -> str:
    """A sentence on results, which is printed only while its predicate (see report/claims.py) holds on the numbers of a
    table, for all values of its variables. Raises ValueError where it does not.
    """
    if (verdicts := report_answers.holds(sentence, predicate, variables, TABLES, name)) != {"holds"}:
        said = ", ".join(sorted(verdicts))
        raise ValueError(f"{name} does not bear out what docs/templates say, {sentence!r}: {said}")
    return sentence


def answers() -> str:
    """What a practitioner asks, and what the runs say, in Markdown; the first sentence of an answer is bold."""
    held = report_answers.load(ROOT / "results/answers.yaml", RESULTS)
    lines = [[one.question, re.sub(r"^(.+?(?<!al)\.)(?=\s|$)", r"**\1**", one.answer), one.numbers] for one in held]
    return markdown([["question", "answer here", "numbers (95% interval)"], *lines])


def cell(line: dict[str, str] | None) -> str:
    if not line or not line["ours"]:
        return ""
    digits = 2 if float(line["ours"]) < 1 else 1
    paper = f"<br>paper {line['paper']}" if line["paper"] else ""
    interval = f" ({number(line['low'], digits)} to {number(line['high'], digits)})" if line["low"] else ""
    return f"**{number(line['ours'], digits)}**{interval}{paper}"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(value.replace('|', '&#124;') for value in line)} |" for line in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body]) + "\n"


def judged(run: str) -> dict[str, Judgement]:
    """The claims of the papers in a run, by name."""
    return {one.claim: one for one in records.read(csv_of(f"{run}/claims"), Judgement, "a table of claims")}


def claims() -> dict[str, Any]:
    """The claims of the papers: how many there are, how many are decided in the papers' regime, by which encoder, and how
    many have each verdict.
    """
    runs = {encoder: judged(run) for run, encoder in ENCODERS.items()}
    decided = {name: {one.claim for one in held.values() if one.in_regime} for name, held in runs.items()}
    counts = {name: Counter(one.verdict for one in held.values()) for name, held in runs.items()}
    lines = [
        [verdict, *(str(held[verdict] or "") for held in counts.values())]
        for verdict in VERDICTS
        if any(held[verdict] for held in counts.values())
    ]
    total = ["decided in the papers' regime", *(str(len(held)) for held in decided.values())]
    return {
        "total": len({name for held in runs.values() for name in held}),
        "decided": len(set().union(*decided.values())),
        "by": decided,
        "counts": markdown([["claims", *runs], *lines, total]),
    }


def claim_tables() -> str:
    """The claims of each paper with the verdicts of all encoders, in Markdown: those that one of them decides in the
    papers' regime, and the others, folded.
    """
    runs = [judged(run) for run in ENCODERS]
    text = ""
    for paper, name in PAPERS.items():
        held = [[run[claim] for run in runs] for claim, one in runs[0].items() if one.paper == paper]
        decided = [row for row in held if any(one.in_regime for one in row)]
        rest = [row for row in held if row not in decided]
        folded = f"<details><summary>{len(rest)} not decided here</summary>\n\n{claim_table(rest)}\n</details>\n"
        text += f"### {name}\n\n{len(decided)} decided:\n\n{claim_table(decided)}\n{folded}\n"
    return text


def claim_table(claims: list[list[Judgement]]) -> str:
    """Claims with the verdict of each encoder, in Markdown: in the order of VERDICTS, those in the papers' regime first."""
    rows = sorted(claims, key=lambda row: min((not one.in_regime, VERDICTS.index(one.verdict)) for one in row))
    lines = [[row[0].tested, f"“{row[0].quote}” ({row[0].section})", *map(verdict, row)] for row in rows]
    return markdown([["claim", "in the paper's words", *ENCODERS.values()], *lines])


def verdict(claim: Judgement) -> str:
    """The verdict on a claim, with the instances that count and its q, in Markdown."""
    counts = [f"{count} {name}" for name in COUNTED if (count := getattr(claim, name))]
    figures = [", ".join(counts)] * bool(counts) + ([] if claim.q is None else [of_q(claim.q)])
    said = f"**{claim.verdict}**" if claim.in_regime else claim.verdict
    return said + (f" ({'; '.join(figures)})" if figures else "")


def verdicts(name: str) -> str:
    """What the audits say of each claim that rests on a table of the small run, in Markdown: the paper's words, and our
    instances with each encoder.
    """
    place = name.partition("/")[2]
    runs = {run: judged(run) for run in ENCODERS}
    lines = []
    for claim, first in runs["small"].items():
        found = {
            run: held[claim]
            for run, held in runs.items()
            if f"results/{run}/{place}.csv" in held[claim].evidence.split()
        }
        if found:
            said = "<br>".join(f"{capital(ENCODERS[run])}: {instances(one)}." for run, one in found.items())
            lines.append(f'- "{first.quote}" ({first.paper}, {first.section}). {first.tested}<br>{said}\n')
    return "".join(["What the paper says of this table, and what we find:\n\n", *lines]) if lines else ""


def instances(claim: Judgement) -> str:
    """The verdict on a claim and that on its instances, in Markdown."""
    counts = {name: getattr(claim, name.replace(" ", "_")) for name in (*COUNTED, "out of regime")}
    found = [f"{name} in {count} of {claim.instances}" for name, count in counts.items() if count]
    return f"*{claim.verdict}*" + (f" ({', '.join(found)})" if found else "")


def capital(name: str) -> str:
    """A name at the head of a sentence; names of encoders keep their letters."""
    return name if name in ("mUSE", "e5-small") else name[0].upper() + name[1:]


def audit() -> list[tuple[str, int, int]]:
    """Paper, how many numbers it prints, and how many of them the small run has, too."""
    printed, measured = Counter[str](), Counter[str]()
    for line in read("small/audit"):
        printed[line["paper"]] += 1
        measured[line["paper"]] += line["ours"] != ""
    return [(paper, printed[paper], measured[paper]) for paper in sorted(printed)]


@cache
def machines() -> dict[str, Any]:
    """What `bitextbench compare` says of small on processors of two makers: its counts and its text."""
    pairs = replication.of_folders(ROOT / "results/small-intel", ROOT / "results/small-amd")
    return {**replication.counts(pairs), "text": replication.render(pairs)}


def costs(*commands: str) -> str:
    """What commands, or all of docs/costs.csv, cost in time and disk, in Markdown."""
    held = pandas.read_csv(DOCS / "costs.csv", dtype=str, keep_default_na=False)
    lines = held.to_numpy().tolist()
    return markdown([[*held], *(line for line in lines if not commands or line[0].strip("`") in commands)])


# ---- README


def readme(text: str) -> str:
    """README.md with the answers of the runs, costs, what `make tiny` ends with, the first pairs of the samples, and how
    many are right.

    Raises ValueError where a mark is missing.
    """
    first, *rest = text.split(START)
    blocks = [
        answers(),
        costs("make env", "make tiny", "make test", "make small"),
        f"```\n{shown(csv_of('tiny/table2'), 'tiny', brief=True)}```\n",
        f"```\n{mined()}```\n",
        f"    {evaluated()}\n",
    ]
    after = [part.split(END)[1] for part in rest]
    return first + "".join(f"{START}\n{block}{END}{then}" for block, then in zip(blocks, after, strict=True))


def mined() -> str:
    """The first pairs in docs/tiny/pairs.tsv: what the README's command makes of the samples."""
    return "".join(f"{line}\n" for line in (DOCS / "tiny/pairs.tsv").read_text(encoding="utf-8").splitlines()[:3])


def evaluated() -> str:
    """What `evaluate bucc` prints of docs/tiny/pairs.tsv."""
    pairs = mined_pairs.read(DOCS / "tiny/pairs.tsv")
    return bucc.summary(bucc.evaluate(pairs, read_gold(ROOT / "examples/news.gold")))


# ---- what modules say of themselves


SILENT = "Where the paper is silent:\n\n"


@cache
def docstring(module: str) -> str:
    """What a module of the package says of itself, in Markdown."""
    path = ROOT / "src/bitextbench" / module
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    says = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    says = says.replace("docs/notebook/measurements.md", "[measurements](notebook/measurements.md)")
    return re.sub(r"(`[^`\n]*`)|<", lambda part: part[1] or "&lt;", says)


def method(module: str) -> str:
    """What a module computes, without what it chose where a paper is silent."""
    first, _, then = docstring(module).partition(SILENT)
    return (first + then[len(choices(module)) :]).strip()


def choices(module: str) -> str:
    """What a module chose where a paper is silent: a list."""
    then = docstring(module).partition(SILENT)[2]
    return "".join(re.findall(r"\A(?:(?:- |  ).*(?:\n|\Z))+", then))


# ---- data sets


def data_sets() -> dict[str, Any]:
    """Files of the registry -> their heading and entries; and which entries of the configurations use each data set."""
    files = {}
    for path in sorted((ROOT / "src/bitextbench/data/registry").glob("*.yaml")):
        heading = re.match(r"((?:#.*\n)*)", path.read_text(encoding="utf-8"))
        assert heading
        files[path.stem] = {
            "heading": re.sub(r"\s*# ?", " ", heading[1]).strip(),
            "entries": list(registry.read([path]).values()),
        }
    return {"files": files, "users": users(), "total": len(registry.load())}


def users() -> dict[str, list[str]]:
    """Data set -> `<configuration>: <entry>, ...`, for each configuration that names it."""
    found: dict[str, list[str]] = {}
    for path in [ROOT / "config.yaml", *sorted((ROOT / "config").rglob("*.yaml"))]:
        run = "paper" if path.name == "config.yaml" else path.stem
        entries = defaultdict(list)
        for section in yaml.safe_load(path.read_text(encoding="utf-8")).values():
            for entry, value in section.items() if isinstance(section, dict) else ():
                for name in named(value, pairs_of(value)):
                    entries[name].append(f"`{entry}`")
        for name, uses in entries.items():
            found.setdefault(name, []).append(f"{run}: {', '.join(dict.fromkeys(uses))}")
    return found


def pairs_of(value: Any) -> list[str]:
    return value.get("pairs", []) if isinstance(value, dict) else []


def named(value: Any, pairs: Sequence[str]) -> Iterator[str]:
    """The data sets that a value of the configuration names, with {pair}, {src} and {tgt} filled in."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from named(item, pairs)
    elif isinstance(value, str):
        for pair in pairs or [""]:
            src, _, tgt = pair.partition("-")
            name = value.replace("{pair}", pair).replace("{src}", src).replace("{tgt}", tgt)
            if name in registry.load():
                yield name


def total(entry: registry.DataSet) -> int | None:
    """Bytes of all files; None where one is unknown."""
    sizes = [file.bytes for file in entry.files]
    return None if None in sizes else sum(filter(None, sizes))


def verified(entry: registry.DataSet) -> str:
    kinds = {"sha256" if file.sha256 else "sha1" if file.sha1 else "first download" for file in entry.files}
    return ", ".join(sorted(kinds))


def notes(entries: Iterable[registry.DataSet]) -> list[tuple[str, list[str]]]:
    """Each note, in sentences and as a cell of a table, and the data sets that have it."""
    found = defaultdict(list)
    for entry in filter(lambda entry: entry.note, entries):
        parts = re.split(r"; (?![^(]*\))", entry.note.replace("|", "&#124;").replace("<", "&lt;"))
        found[". ".join(part[:1].upper() + part[1:] for part in parts)].append(entry.name)
    return list(found.items())


def size(count: int | None) -> str:
    """Bytes for a person."""
    if count is None:
        return "unknown"
    value, units = float(count), iter(("B", "kB", "MB", "GB"))
    unit = next(units)
    while value >= 1000 and unit != "GB":
        value, unit = value / 1000, next(units)
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def ranked(name: str) -> list[encoders.Retrieved]:
    """The lines of a table of encoders, the best encoder of each test first."""
    return encoders.ranked(encoders.read(csv_of(name)))


# ---- pictures


def pictures() -> dict[Path, str]:
    """Pictures of committed tables, by the module that draws those of the report."""
    drawn = {
        "encoders": plots.costs(encoders.read(csv_of("small-encoders/encoders")), "encoders"),
        "sweep": plots.precision_curves(records.read(csv_of("small/sweep"), Step, "a sweep"), "sweep"),
        "distribution": plots.distribution_curves(read_distribution(csv_of("small/distribution")), "distribution"),
    }
    return {DOCS / f"{name}.svg": plots.alone(picture) for name, picture in drawn.items()}


def board() -> dict[Path, str]:
    """The leaderboard of the published encoders, and of two that small trains: page, table, picture."""
    runs = [ROOT / "results" / run for run in (*PUBLISHED, "published-small")]
    made = leaderboard.made(leaderboard.joined(runs, ROOT / "references"))
    return {DOCS / f"leaderboard.{suffix}": text for suffix, text in made.items()}


if __name__ == "__main__":
    for path, text in documents().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
