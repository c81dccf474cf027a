"""What README.md and docs/ say is so: generated pages are up to date, links lead somewhere, files and commands exist."""

import csv
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from test_style import TOOLS

from bitextbench.base import members
from bitextbench.cli.main import cli

ROOT = Path(__file__).parents[1]
MAKE = runpy.run_path(str(ROOT / "docs/make.py"))
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "references/README.md", "examples/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def generated():
    return MAKE["documents"]()


def test_generated_pages_are_up_to_date(generated):
    old = [str(path.relative_to(ROOT)) for path, text in generated.items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run `make docs`: {', '.join(old)} would change"


def test_a_sentence_on_results_is_printed_while_the_numbers_bear_it_out():
    so = MAKE["so"]
    columns = ["10M/test2017", "100M/test2018"]
    assert (
        so("Random is worst.", "tiny/table2", "[random, {column}] < [mlp, {column}]", column=columns)
        == "Random is worst."
    )
    with pytest.raises(ValueError, match=r"tiny/table2 does not bear out .*Random is best.*fails"):
        so("Random is best.", "tiny/table2", "[random, {column}] > [mlp, {column}]", column=columns)
    with pytest.raises(ValueError, match="not run"):
        so("Fish is best.", "tiny/table2", "[fish, 10M/test2017] > [mlp, 10M/test2017]")


def test_the_page_of_data_has_every_data_set(generated):
    page = generated[ROOT / "docs/data.md"]
    assert all(f"| `{name}` |" in page for name in MAKE["registry"].load())
    assert "`newstest2018.de-en`" in page
    assert "paper: `test2018`, `newstest2018`" in page


def test_the_page_of_methods_lists_every_encoder_and_similarity():
    page = TEXTS[ROOT / "docs/methods.md"]
    assert not [name for kind in members.KINDS for name in members.sources(kind) if f"\n| `{name}` | " not in page]


def test_the_page_of_methods_has_every_choice_where_a_paper_is_silent():
    package = ROOT / "src/bitextbench"
    silent = [path for path in package.rglob("*.py") if MAKE["SILENT"] in path.read_text(encoding="utf-8")]
    left = [path.relative_to(package).with_suffix("").as_posix() for path in silent]
    assert len(left) > 20
    assert not [module for module in left if f"\n`{module}`\n" not in TEXTS[ROOT / "docs/methods.md"]]


@pytest.mark.parametrize("name", ["table2.csv", "table2.significance.csv"])
def test_the_tiny_table_is_that_of_the_golden_run(name):
    golden = json.loads((ROOT / "tests/golden/tiny.json").read_text())["files"]
    shown = hashlib.sha256((ROOT / "docs/tiny" / name).read_bytes()).hexdigest()
    assert shown == golden[f"results/{name}"], "run `make golden`, which copies the table to docs/tiny/"


def test_the_run_of_all_rows_has_the_numbers_of_tiny():
    tiny, full = (
        [
            line
            for line in (ROOT / f"docs/{run}/table2.csv").read_text().splitlines()
            if re.search(",(random|cosine|mlp),", line)
        ]
        for run in ("tiny", "full")
    )
    assert tiny == full


def test_every_table_of_the_small_run_is_on_the_page_with_its_file(generated):
    missing = []
    for path in (ROOT / "results/small").glob("*2*/table*.csv"):
        page = generated[ROOT / f"docs/tables/{path.parent.name}.md"]
        lines = [line for line in csv.DictReader(path.open(encoding="utf-8")) if line["ours"]]
        missing += [path.name for line in lines if MAKE["cell"](line) not in page]
        missing += [] if f"(../../{path.relative_to(ROOT)})" in page else [path.name]
    assert not missing


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            "artetxe2019/table2",
            "Precision, recall, F1 in percent, at the threshold with the best F1 on these very pairs. News",
        ),
        (
            "artetxe2019/table3",
            "F1 in percent, at the threshold with the best F1 on the other half of the pairs. News with",
        ),
        ("artetxe2019/table5", "Sentence pairs in millions, BLEU. Captions"),
        ("kim2019/table1", "Error rate in percent, lower is better. Captions"),
        ("yang2019/table1", "P@1, P@3, P@10 in percent. The Bible in place of the UN corpus."),
    ],
)
def test_a_table_of_a_paper_says_what_its_numbers_are(generated, place, said):
    paper, _, _ = place.partition("/")
    text = MAKE["captioned"](f"small/{place}")
    assert text.startswith(said)
    assert text in generated[ROOT / f"docs/tables/{paper}.md"]


def test_the_page_of_claims_has_the_verdict_of_every_encoder(generated):
    page = generated[ROOT / "docs/claims.md"]
    for run, encoder in MAKE["ENCODERS"].items():
        held = MAKE["judged"](run).values()
        decided = [claim for claim in held if claim.in_regime]
        assert f"{len(decided)} by {encoder}" in page
        for claim in decided:
            (line,) = [row for row in page.splitlines() if claim.quote in row and claim.tested in row]
            assert MAKE["verdict"](claim) in line


def test_the_page_of_claims_folds_what_is_not_decided(generated):
    page = generated[ROOT / "docs/claims.md"].partition("## How a claim is judged")[0].partition("\n### ")[2]
    folded = "".join(re.findall("<details>.*?</details>", page, flags=re.S))
    rows, hidden = (re.findall(r"^\| [A-Z].*", text, flags=re.M) for text in (page, folded))
    assert len(rows) == MAKE["claims"]()["total"]
    assert [row for row in rows if "**" not in row] == hidden


def test_set_up_says_the_disk_of_the_table_of_costs():
    (disk,) = (
        line["disk"] for line in csv.DictReader((ROOT / "docs/costs.csv").open()) if "make env" in line["command"]
    )
    assert disk.split(" (")[0] in (ROOT / "envs/install.sh").read_text()


def test_help_of_make_says_the_times_of_the_table_of_costs():
    costs = {
        line["command"].strip("`"): line["time on two cores"]
        for line in csv.DictReader((ROOT / "docs/costs.csv").open())
    }
    lines = re.findall(
        r"^## (make \S+) .*?(\d+(?: to \d+)? (?:minutes|hours))", (ROOT / "Makefile").read_text(), flags=re.M
    )
    assert len(lines) >= 5
    assert {command: time for command, time in lines if not costs[command].startswith(time)} == {}
    assert not re.search(r"\b(minutes|hours)\b on", (ROOT / "CONTRIBUTING.md").read_text())


def test_the_citation_has_the_papers_of_the_readme():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    titles = re.findall(r"^\| \[\w+\d{4}\]\(\S+\) \| .*?\*(.*)\*", TEXTS[ROOT / "README.md"], flags=re.M)
    assert len(titles) == 5
    assert {one["title"] for one in cited} == {*titles}


def test_answers_of_the_readme_are_short():
    """An interval counts as one word."""
    for line in re.findall(r"^\| [^|]+\? \| \*\*.+$", TEXTS[ROOT / "README.md"], flags=re.M):
        for cell in re.sub(r" \([\d.]+ to [\d.]+\)", "", line).strip("| ").split(" | "):
            assert len(cell.split()) <= 30, cell


def test_the_readme_is_short():
    assert len(TEXTS[ROOT / "README.md"].splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(TEXTS[page]):
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    """Paths in backticks that begin in the repository; `<name>` and `*` stand for something."""
    tracked = set(
        subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()
    )
    tops = {name.split("/")[0] for name in tracked} - {"results", "data"}
    for path in re.findall(r"`([\w.][\w./-]*/[\w./-]*)`", TEXTS[page]):
        if path.split("/")[0] in tops:
            assert (ROOT / path).exists(), path


def test_the_hooks_and_make_lint_are_what_the_tests_run():
    lint = subprocess.run(
        ["make", "-n", "--assume-old", ".venv/installed", "lint"], cwd=ROOT, text=True, capture_output=True, check=True
    )
    commands = [" ".join(command) for command in TOOLS.values()]
    assert [line for line in lint.stdout.splitlines() if line in commands] == commands
    (hooks,) = (repo["hooks"] for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"])
    assert [hook["name"] for hook in hooks] == list(TOOLS)
    assert all(hook["entry"].startswith(f".venv/bin/{hook['name']}") for hook in hooks)


def test_help_tells_every_target():
    makefile = (ROOT / "Makefile").read_text()
    told = subprocess.run(["make", "help"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, flags=re.M)[1].split()) - {"help"}
    assert set(re.findall(r"^make ([\w-]+) ", told, flags=re.M)) == targets
    assert all(len(line) < 130 for line in told.splitlines())


def test_the_shell_completes_commands():
    (line,) = re.findall(r'^eval "\$\((\w+)=(\w+) \.venv/bin/(\w+)\)"$', TEXTS[ROOT / "docs/running.md"], flags=re.M)
    variable, source, name = line
    program = Path(sys.executable).with_name(name)
    shell = f'eval "$({variable}={source} {program})"; complete -p {name}'
    assert subprocess.run(["bash", "-c", shell], text=True, capture_output=True).stdout.endswith(f" {name}\n")
    asked = {"COMP_WORDS": f"{name} mi", "COMP_CWORD": "1", variable: source.replace("source", "complete")}
    found = subprocess.run([program], env=os.environ | asked, text=True, capture_output=True)
    assert found.stdout.split() == ["plain,mine"]


def test_ci_runs_both_versions_of_python():
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12"]
    assert {"make tiny", "make test", "make test-slow", "make pages"} <= {step.get("run") for step in job["steps"]}


def test_the_site_has_a_report_for_each_of_its_links():
    (job,) = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())["jobs"].values()
    assert "make pages" in {step.get("run") for step in job["steps"]}
    (runs,) = re.findall(r"^REPORTS = (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)
    linked = re.findall(r'href="results/([\w-]+)/index.html"', (ROOT / "docs/pages.html").read_text())
    assert runs.split() == linked
    assert all((ROOT / "results" / run).is_dir() for run in linked)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_their_options_exist(page):
    for call in re.findall(
        r"(?m)(?<![\w/.-])bitextbench ((?:[a-z][^`\n|>;]*|\\\n)+)", TEXTS[page].replace("\\\n", " ")
    ):
        words = call.split()
        command = cli
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
        options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert options <= known | {"-h", "--help", "-inf"}, call
