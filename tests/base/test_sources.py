"""Versions of code: what changes them, and what does not."""

import ast
import io
import json
import re
import shutil
import tokenize
from dataclasses import replace
from pathlib import Path

import pytest

from bitextbench.base import sources
from bitextbench.base.errors import InputError
from bitextbench.data import registry
from bitextbench.workflow import registered

ROOT = Path(__file__).parents[2]
MODULES = sorted(sources.PACKAGE.rglob("*.py"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package, to change."""
    copy = shutil.copytree(sources.PACKAGE, tmp_path / "bitextbench", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sources, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def forget() -> None:
    for cached in (sources.version, sources.modules, sources._file, sources._text, sources._blocks, sources._commands):
        cached.cache_clear()


def change(package: Path, module: str, old: str, new: str) -> None:
    path = package / module
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    forget()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(sources.PACKAGE)))
def test_only_docstrings_and_comments_are_left_out(path):
    text = path.read_text()
    words = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    left_out = {
        line for node in words if node.value.value is not ... for line in range(node.lineno, node.end_lineno + 1)
    }
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    left_out |= {one.start[0] for one in found if one.type == tokenize.COMMENT and one.line.lstrip().startswith("#")}
    kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in left_out and line.strip()]
    assert sources._plain(path).splitlines() == kept


def test_words_change_no_version_and_code_changes_those_that_use_it(package):
    commands = ("step corpus", "step tokens", "step encode", "train", "step nmt-train", "step score", "step table")
    before = {command: sources.version(command) for command in commands}
    change(package, "encoders/trainer.py", '"""', '"""In other words: ')
    change(package, "encoders/trainer.py", "\nimport ", "\n# why\nimport ")
    change(package, "base/errors.py", "class InputError", "PLUMBING = 1\n\n\nclass InputError")
    assert {command: sources.version(command) for command in commands} == before

    def changed():
        return {command for command in commands if sources.version(command) != before[command]}

    change(package, "encoders/trainer.py", "\n@dataclass", "\nNEW = 1\n\n\n@dataclass")
    assert changed() == {"train"}
    change(package, "encoders/encode.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert changed() == {"train", "step encode"}
    change(package, "formats/bitext.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert {"step corpus", "step tokens", "step score"} < changed()


def test_a_metric_changes_no_corpus(package):
    before = sources.version("step corpus")
    change(package, "base/bootstrap.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert sources.version("step corpus") == before


def test_the_loops_of_a_search_count_in_what_it_finds(package):
    before = sources.version("step hard-negatives")
    change(package, "neighbours/kernels.py", "\nimport ", "\nNEW = 1\nimport ")
    assert sources.version("step hard-negatives") != before


def test_what_is_told_of_mined_texts_makes_no_training_pairs_anew(package):
    commands = ("step rescoring-pairs", "step measure-mining", "step bucc-set")
    before = {command: sources.version(command) for command in commands}
    for module in ("mining/texts", "mining/summary", "mining/checks", "encoders/muse", "text/moses"):
        change(package, f"{module}.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert {command: sources.version(command) for command in commands} == before
    change(package, "mining/searched.py", "\nimport ", "\nNEW = 1\nimport ")
    assert not {sources.version(command) for command in commands} & {*before.values()}


def test_the_version_of_a_training_is_that_of_its_module_its_model_and_what_they_import(package):
    def of(model):
        return sources.modules("encoders.trainer", package / f"encoders/models/{model}.py")

    before = {model: of(model) for model in ("dan_dual", "pivot_nmt")}
    assert len({*before.values(), sources.modules("encoders.trainer"), sources.modules("nmt.train")}) == 4
    change(package, "encoders/trainer.py", '"""', '"""In other words: ')
    assert {model: of(model) for model in before} == before
    change(package, "encoders/recurrent.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert [model for model in before if of(model) != before[model]] == ["pivot_nmt"]
    change(package, "encoders/batches.py", "\nfrom ", "\nNEW = 1\nfrom ")
    assert of("dan_dual") != before["dan_dual"]


def test_a_command_counts_with_its_own_lines_and_the_helpers_it_calls(package):
    tokens, corpus = sources.version("step tokens"), sources.version("step corpus")
    change(package, "cli/corpus.py", "    counts = build(", "    counts = build  (")
    assert sources.version("step corpus") != corpus
    assert sources.version("step tokens") == tokens


def test_members_and_the_embedded_corpus_count_where_they_are_named(package, tmp_path):
    plain, model = sources.version("train"), sources.version("train", "encoders.models.dan_dual")
    synth = sources.version("step corpus", "data.synth")
    assert len({plain, model, sources.version("train", "encoders.models.nmt_autoencoder")}) == 3
    change(package, "encoders/models/dan_dual.py", "\nclass ", "\nNEW = 1\n\n\nclass ")
    change(package, "data/synth/nouns.tsv", "\n", "\n#\n")
    assert sources.version("train") == plain
    assert sources.version("train", "encoders.models.dan_dual") != model
    assert sources.version("step corpus", "data.synth") != synth
    plugin = tmp_path / "own.py"
    plugin.write_text("x = 1\n")
    before = sources.version("train", plugin)
    plugin.write_text("x = 2\n")
    forget()
    assert sources.version("train", plugin) != before


def test_a_parser_counts_with_what_it_uses(package):
    before = {name: sources.part("data.parsers", name) for name in ("tsv", "sgm", "osis")}
    change(package, "data/parsers.py", "def _segments(", "def _segments  (")
    change(package, "data/parsers.py", "def mono(", "def another() -> None:\n    pass\n\n\ndef mono(")
    changed = {name for name in before if sources.part("data.parsers", name) != before[name]}
    assert changed == {"sgm"}


def test_a_misspelt_parser_is_named_when_a_run_is_planned():
    with pytest.raises(InputError, match=r"data\.parsers: no function 'alligned'; did you mean aligned\?"):
        sources.part("data.parsers", "alligned")


def test_a_registry_entry_counts_with_what_decides_bytes(monkeypatch):
    entry = registry.entry("newstest2017.de-en")
    file, parser = entry.files[0], entry.parsers[0]
    assert file.sha256
    before = {what: registered(entry.name, what) for what in ("files", "parsers")}

    def changed(**other):
        monkeypatch.setattr(registry, "entry", lambda name: replace(entry, **other))
        return {what for what in before if registered(entry.name, what) != before[what]}

    elsewhere = (replace(file, url="https://elsewhere.org/x"), *entry.files[1:])
    assert changed(licence="another", files=elsewhere) == set()
    assert changed(files=(replace(file, sha256="0" * 64), *entry.files[1:])) == {"files"}
    assert changed(files=(replace(file, sha256=None, sha1=None), *entry.files[1:])) == {"files"}
    other = replace(parser, arguments=json.loads(json.dumps(dict(parser.arguments))) | {"docs": "x"})
    assert changed(parsers=(other, *entry.parsers[1:])) == {"parsers"}


def test_every_rule_has_the_version_of_the_command_that_it_calls():
    found = 0
    for path in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"(?m)^(?=(?:use )?rule )", path.read_text()):
            called = re.search(r"-m bitextbench (?:(step|evaluate) )?([\w-]+|\{params\.command:q\})", block)
            listed = re.search(r'^        command=\["(\w+)", "([\w-]+)"\],$', block, flags=re.M)
            if not ((called and block.startswith("rule ")) or listed) or (called and called[2] == "fetch"):
                continue
            command = " ".join(filter(None, (listed or called).groups()))
            assert re.search(rf'version=(?:code\(|lambda w: sources\.version\()\s*"{command}"', block), block[:60]
            sources.version(command)
            found += 1
    assert found > 70


def test_an_unknown_command_is_an_error():
    with pytest.raises(InputError, match="no command 'step nothing'"):
        sources.version("step nothing")
