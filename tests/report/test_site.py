"""The report of a run: every link resolves, nothing comes from elsewhere, what is missing is said, bad files are
refused; in a browser.
"""

import contextlib
import csv
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.formats.records import to_csv
from bitextbench.report import notes, plots, sentences, site
from bitextbench.report.cells import Cell, read
from bitextbench.report.quality import Point
from bitextbench.report.run import read_seeds
from bitextbench.report.training import Trained, Validated

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "results/small"
FILES = {"audit.csv", "claims.csv", "instances.csv", "settings.csv"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = next((path for path in [ROOT / "node_modules/axe-core/axe.min.js"] if path.exists()), None)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The committed results of small, with an audit, settings and an example made now."""
    folder = tmp_path_factory.mktemp("results") / "small"
    for path in (*SMALL.rglob("*.csv"), *SMALL.rglob("*.json")):
        if path.name not in FILES:
            (folder / path.relative_to(SMALL)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(SMALL))
    invoke("audit", folder, "--references", ROOT / "references")
    options = ["--references", ROOT / "references", "--config", ROOT / "config.yaml"]
    invoke("step", "settings", *options, "-o", folder / "settings.csv")
    shutil.copy(ROOT / "results/small-encoders/encoders.csv", folder)
    (folder / "artetxe2019/figure2.csv").write_text(
        "pairs,bleu,bleu_low,bleu_high,peak\n1000,9.00,8.00,10.00,\n2000,9.50,8.50,10.50,yes\n"
    )
    curve = [Validated("dan_dual.en-fr", seed, update, 1.0, update / 10) for seed in (1, 2) for update in (100, 200)]
    (folder / "learning.csv").write_text(to_csv(Validated, curve))
    (folder / "training.csv").write_text(
        to_csv(
            Trained,
            [Trained("mlp", 1, "x", 8, 9, 200, 3.5, None), Trained("dan_dual.en-fr", 1, "x", 8, 9, 200, 3.5, 20.0)],
        )
    )
    (folder / "roc.csv").write_text(
        to_csv(Point, [Point("pool", name, bad, bad) for name in ("a", "b") for bad in range(101)])
    )
    graph = {"jobs": {"a": 1, "b": 2}, "steps": {"a": 0, "b": 1}, "edges": [["a", "b"], ["b", "a"]]}
    (folder / "rules.json").write_text(json.dumps(graph))
    (folder / "kim2019/table4.md").write_text("# An example\n", encoding="utf-8")
    invoke("report", folder)
    return folder


@pytest.fixture
def copy(run, tmp_path):
    """The run without its pages, to spoil."""
    return shutil.copytree(run, tmp_path / "small", ignore=shutil.ignore_patterns("*.html"))


def invoke(*arguments):
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


class Page(HTMLParser):
    """What a page links, loads and names."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.headings = [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.ids += [held["id"]] if "id" in held else []
        if href := held.get("href") or held.get("xlink:href"):
            (self.links if tag in ("a", "use") else self.loaded).append(href)
        self.loaded += [held["src"]] if "src" in held else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []


def test_every_link_resolves(run):
    pages = {path.resolve(): Page(path) for path in run.rglob("*.html")}
    assert len(pages) > 30
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        for link in set(page.links):
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), f"{path}: {link}"
            if anchor:
                assert anchor in pages[target].ids, f"{path}: {link}"


def test_a_table_shows_its_seeds_and_links_their_numbers(run):
    page = (run / "kim2019/table3.html").read_text(encoding="utf-8")
    assert 'href="../measurements/kim2019/table3.json"' in page
    assert "one of its seeds" in page
    cells, seeds = read(run / "kim2019/table3.csv"), read_seeds(run / "measurements")
    without, drawn = (plots.dots(cells, {}, "d", values).count("<use ") for values in ({}, seeds))
    assert drawn - without == sum(len(seeds["kim2019/table3", cell.row, cell.column]) for cell in cells) == 12 * 5


def test_a_note_stands_once_where_all_numbers_have_it():
    def cell(row: str, column: str, note: str, ours: float | None = 1.0) -> Cell:
        return Cell("p/table1", row, row.upper(), column, ours=ours, note=note)

    cells = [
        cell("a", "x", "news; as a; news of 2017; alone"),
        cell("a", "y", "news; as a"),
        cell("b", "x", "news; news of 2017"),
        cell("b", "y", "news"),
        cell("c", "x", "no c", None),
        cell("c", "y", "no c; news", None),
    ]
    made = notes.notes(cells)
    assert made.of_table == ["news"]
    assert made.of_rows == {"A": ["as a"], "B": [], "C": ["no c"]}
    assert made.of_columns == {"x": ["news of 2017"], "y": []}
    assert [made.of_cell(cell) for cell in cells] == [["alone"], [], [], [], [], []]
    one = notes.notes([cell("a", "x", "here")])
    assert (one.of_table, one.of_rows, one.of_columns) == (["here"], {"A": []}, {"x": []})
    assert notes.notes([]).of_table == []


def test_the_curves_of_all_panels_are_named():
    """A scorer that the first panel alone has is in the key, and one of both panels looks the same in both."""
    points = [
        Point(corpus, method, at, at) for corpus, method in (("x", "own"), ("x", "z"), ("y", "z")) for at in (0, 100)
    ]
    drawn = plots.roc_curves(points, "roc")
    assert [drawn.count(f"</svg>{method}</li>") for method in ("own", "z")] == [1, 1]
    assert [drawn.count(f"fill: none; stroke: var(--c{number})") for number in (0, 1)] == [1, 2]
    assert [drawn.count(f"color:var(--c{number})") for number in (0, 1)] == [1, 1]  # in the key
    assert [*plots.SHAPES] == [*plots.MARKERS]


def test_pages_load_nothing(run):
    for path in run.rglob("*.html"):
        text, page = path.read_text(encoding="utf-8"), Page(path)
        assert set(page.loaded) <= {"data:,"}, path
        assert not re.search(r"@import|url\((?!#)", text), path
        assert not re.search(r"#0102[0-9a-f]{2}|DejaVu Sans'", text), (
            f"{path}: a colour or font that no style sheet has"
        )


def test_headings_are_in_order_and_sizes_within_limits(run):
    for path in run.rglob("*.html"):
        headings = Page(path).headings
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(headings)), path
    assert sum(path.stat().st_size for path in run.rglob("*.html")) < 3_000_000


def test_the_same_files_make_the_same_bytes(run):
    before = {path: path.read_bytes() for path in run.rglob("*.html")}
    site.write(run)
    assert {path: path.read_bytes() for path in run.rglob("*.html")} == before


def test_the_entrance_counts_what_the_files_have(run):
    page = (run / "index.html").read_text(encoding="utf-8")
    claims = site.load(run).claims
    assert f"{sum(claim.in_regime for claim in claims)} <small>of {len(claims)}</small>" in page
    with open(run / "audit.csv", encoding="utf-8") as file:
        numbers = len(list(csv.DictReader(file)))
    squares = re.findall(r'<use href="#s-[\w-]+" x=', page)
    assert len(squares) == numbers


def test_the_entrance_has_the_decided_claims_by_verdict(run):
    page = (run / "index.html").read_text(encoding="utf-8")
    for claim in site.load(run).claims:
        assert (f'<a href="claims.html#{claim.claim}">' in page) == (claim.verdict in site.DECIDED)


def test_the_entrance_has_the_answers_that_rest_on_the_run(tmp_path):
    for name in ("small", "small-encoders", "small-fr", "small-es"):
        shutil.copytree(SMALL.with_name(name), tmp_path / name)
    shutil.copy(SMALL.with_name("answers.yaml"), tmp_path)
    made = site.Site(site.load(tmp_path / "small"))
    assert made.run.answers
    page = made.entrance()
    assert all(html.escape(one.question).replace("&#x27;", "&#39;") in page for one in made.run.answers)


def test_a_square_of_the_map_says_its_row_and_column(run):
    page = (run / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<title>random, 10M/test2017: [a-z ,]+</title>", page)


def test_a_run_has_pages_of_what_it_computed_alone(run, tmp_path):
    made = site.Site(site.load(run)).pages()
    assert not [table.page for table in site.load(run).tables.values() if not table.csv and table.page in made]
    shutil.copy(SMALL / "table2.csv", tmp_path)
    pages = site.Site(site.load(tmp_path)).pages()
    assert set(pages) == {"index.html", "table2.html"}
    assert not any(
        f'href="{name}.html"' in pages["index.html"] for name in ("claims", "encoders", "filtering", "settings")
    )


def test_no_page_shows_a_variable_of_a_template(run):
    for path in run.rglob("*.html"):
        text = re.sub(r"<(style|script|pre|code)>.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
        assert "{" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.S), path


def test_each_claim_says_in_words_what_was_tested(run):
    page = (run / "claims.html").read_text(encoding="utf-8")
    for claim in site.load(run).claims:
        assert html.escape(claim.tested, quote=False).replace('"', "&#34;").replace("'", "&#39;") in page, claim.claim


def test_the_orders_of_rows_stand_below_their_head(run):
    assert sentences.nested(["a", "b:", "  c", "  d", "e"]) == [("a", []), ("b:", ["c", "d"]), ("e", [])]
    page = (run / "table2.html").read_text(encoding="utf-8")
    assert re.search(r"<li>The paper&#39;s order[^<]+:<ul><li>random &lt; \w+ ", page)


@pytest.mark.parametrize("name", [
    "audit.csv", "claims.csv", "instances.csv", "settings.csv", "sweep.csv", "encoders.csv", "table2.provenance.json",
])  # fmt: skip
def test_a_missing_file_is_said(copy, name):
    (copy / name).unlink()
    made = site.Site(site.load(copy))
    for page in (made.entrance, made.claims, made.encoders, made.filtering, made.settings, made.provenance):
        assert "<h1>" in page()
    assert f"<code>{name}</code>" in made.entrance()


def test_a_table_of_a_paper_that_the_report_does_not_know_is_said(copy, capsys):
    text = (copy / "kim2019/table1.csv").read_text(encoding="utf-8")
    for place in ("own2026/table1", "other/table2"):  # the second: of another run, as results/ has them
        (copy / place).parent.mkdir()
        (copy / place).with_suffix(".csv").write_text(text.replace("kim2019/table1", "own2026/table1"))
    site.load(copy)
    said = (
        f"not in the report: {copy}/own2026/table1.csv; PAPERS of src/bitextbench/report/references.py lacks own2026\n"
    )
    assert capsys.readouterr().err == said


def test_encoders_are_also_of_the_study_beside_the_run(copy):
    study = copy.with_name(f"{copy.name}-encoders")
    study.mkdir()
    (copy / "encoders.csv").rename(study / "encoders.csv")
    made = site.Site(site.load(copy))
    assert 'href="../' + study.name + '/encoders.csv"' in made.encoders()
    assert "of a related study" in made.encoders()
    assert "<code>encoders.csv</code>" not in made.entrance()


def test_data_of_a_mirror_with_other_content_is_said(copy):
    path = copy / "table2.provenance.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["data"][0]["checksum"] = "changed"
    path.write_text(json.dumps(facts), encoding="utf-8")
    made = site.Site(site.load(copy))
    for page in (made.entrance, made.claims, made.provenance):
        assert "A mirror gave it 1 file with other content than the publishers&#39;:" in page()


def test_one_table_makes_a_report(tmp_path):
    shutil.copy(SMALL / "kim2019/table1.csv", tmp_path)
    with pytest.raises(InputError, match="no table of a run in this folder"):
        site.write(tmp_path)
    (tmp_path / "kim2019").mkdir()
    (tmp_path / "table1.csv").rename(tmp_path / "kim2019/table1.csv")
    assert "index.html, 2 pages" in invoke("report", tmp_path)
    assert "kim2019/table1.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "old", "new", "message"), [
    ("claims.csv", "claim,paper,", "id,paper,", r"claims.csv:1: not a table of claims of this version \(columns: no claim, a id\)"),
    ("instances.csv", r",(in),-?[0-9.]+,", r",\1,nan,", r"instances.csv:\d+: not a table of instances \(nan is not a number\)"),
    ("kim2019/table1.csv", "kim2019/table1,", "kim2019/table3,", "holds kim2019/table3, not kim2019/table1"),
    ("kim2019/table1.csv", ",small\n", ",small,\n", "not a table"),
    ("yang2019/figure4.csv", r",0\.0,,,,[0-9.]+,", ",0.0,,,,inf,", "inf is not a number"),
    ("table2.provenance.json", '"packages"', '"package"', "not a provenance of this version"),
])  # fmt: skip
def test_a_file_of_another_version_or_with_nan_is_refused(copy, name, old, new, message):
    text = (copy / name).read_text(encoding="utf-8")
    changed, count = re.subn(old, new, text)
    assert count
    (copy / name).write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        site.write(copy)
    assert not [*copy.rglob("*.html")]


def test_a_cell_that_is_nan_is_refused(copy):
    path = copy / "kim2019/table1.csv"
    lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    place = next(number for number, line in enumerate(lines[1:], start=1) if line[lines[0].index("ours")])
    lines[place][lines[0].index("ours")] = "nan"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    with pytest.raises(InputError, match=rf"table1.csv:{place + 1}: not a table \(nan is not a number\)"):
        site.write(copy)


PROBE = """<!doctype html><body><script>
const pages = %s, axe = %s, found = [];
const probe = (page) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.style = "width:390px;height:800px";
  frame.src = page;
  frame.onload = async () => {
    const root = frame.contentDocument.documentElement, broken = [];
    const whole = frame.contentDocument.querySelectorAll(".key li, .answers td, .panels .plot, .forest svg");
    const cut = [...whole].filter((one) => one.getBoundingClientRect().right > 390).map((one) => one.outerHTML.slice(0, 80));
    const heads = frame.contentDocument.querySelectorAll('.scroll tbody th[scope="row"]'), style = frame.contentWindow.getComputedStyle;
    const loose = [...heads].filter((one) => style(one).position !== "sticky").length;  // scrolled out of view with its row
    if (axe) {
      const script = frame.contentDocument.createElement("script");
      script.textContent = axe;
      frame.contentDocument.head.append(script);
      const rules = {runOnly: ["wcag2a", "wcag2aa", "best-practice"], elementRef: false};
      for (const one of (await frame.contentWindow.axe.run(rules)).violations)
        broken.push(one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html).join(" "));
    }
    found.push({page, width: root.scrollWidth, broken, cut, loose});
    frame.remove();
    done();
  };
  document.body.append(frame);
});
(async () => { for (const page of pages) await probe(page); document.body.textContent = "FOUND" + JSON.stringify(found) + "END"; })();
</script>"""


def chromium(*arguments, url):
    """With a profile of its own: two browsers that share one wait for each other. One that hangs is started again."""
    common = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    common += ["--no-first-run", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    for seconds in (150, 300):
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
            contextlib.suppress(subprocess.TimeoutExpired),
        ):
            call = [CHROMIUM, *common, f"--user-data-dir={profile}", *arguments, url]
            done = subprocess.run(call, capture_output=True, text=True, timeout=seconds)
            return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    pytest.fail(f"chromium hangs: {url}")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: the pages are not looked at in a browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_pages_on_a_phone(run, tmp_path, scheme):
    names = ["index", "claims", "table2", "filtering", "settings", "encoders", "artetxe2019/table2"]
    if scheme == "light":
        names += ["kim2019/table3", "yang2019/figure4", "provenance"]
    pages = [(run / f"{name}.html").as_uri() for name in names]
    axe = AXE.read_text(encoding="utf-8").replace("</script", "<\\/script") if AXE else None
    (tmp_path / "probe.html").write_text(PROBE % (json.dumps(pages), json.dumps(axe)), encoding="utf-8")
    colours = f"--blink-settings=preferredColorScheme={int(scheme == 'light')}"
    url = (tmp_path / "probe.html").as_uri()
    out, console = chromium(colours, "--timeout=120000", "--virtual-time-budget=200000", "--dump-dom", url=url)
    found = json.loads(
        re.search("FOUND(.*)END", out)[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    )
    assert not console
    assert len(found) == len(pages)
    assert {one["page"]: one["width"] for one in found} == dict.fromkeys(pages, 390)
    assert not [one for one in found if one["broken"] or one["cut"] or one["loose"]]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: no screenshots")
def test_screenshots(run, tmp_path):
    """Kept where BITEXTBENCH_SCREENSHOTS names a folder: CI's."""
    folder = Path(os.environ.get("BITEXTBENCH_SCREENSHOTS", tmp_path)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("index", "claims", "encoders", "filtering"):
        picture = folder / f"{name}.png"
        url = (run / f"{name}.html").as_uri()
        chromium(f"--screenshot={picture}", "--window-size=1300,1600", "--timeout=60000", url=url)
        assert picture.stat().st_size > 20_000


def test_a_name_of_hundreds_of_characters_is_whole_in_the_table_and_cut_in_the_picture(tmp_path):
    cells, name = read(SMALL / "kim2019/table3.csv"), "eine sehr lange Bezeichnung & mehr " * 25
    first = cells[0].row
    renamed = [replace(cell, row_label=name) if cell.row == first else cell for cell in cells]
    (tmp_path / "kim2019").mkdir()
    (tmp_path / "kim2019/table3.csv").write_text(to_csv(Cell, renamed), encoding="utf-8")
    done = CliRunner().invoke(cli, ["report", str(tmp_path)])
    assert done.exit_code == 0, done.output
    page = html.unescape((tmp_path / "kim2019/table3.html").read_text(encoding="utf-8"))
    assert name.strip() in page
    assert f"{name[: plots.LONGEST - 1]}…" in page


def test_names_in_the_graph_of_rules_do_not_overlap():
    drawn = plots.rule_graph(**json.loads((SMALL / "rules.json").read_text()), name="rules")
    names = re.findall(r"translate\((\S+) (\S+)\)\">([a-z]\w+)<", drawn)
    placed = sorted((float(y), float(x), len(name)) for x, y, name in names)
    gaps = [right - left - 4.2 * length for (y, left, length), (other, right, _) in pairwise(placed) if y == other]
    assert len(gaps) > 20
    assert min(gaps) > 0  # a letter is 4.2 points wide


def test_the_graph_of_rules_is_the_same_whatever_the_hashes():
    code = (
        "import json; from bitextbench.report import plots; print(plots.rule_graph(**json.load(open(0)), name='rules'))"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=(SMALL / "rules.json").read_bytes(),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(drawn) == 1
