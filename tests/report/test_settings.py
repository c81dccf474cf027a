"""What the papers say beside what is configured at paper scale: neither can drift; and what follows by arithmetic."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.data import registry
from bitextbench.report import amounts, settings
from bitextbench.report.references import PAPERS

ROOT = Path(__file__).parents[2]
CONFIG = settings.paper_scale(ROOT / "config.yaml")


@pytest.mark.parametrize("paper", PAPERS)
def test_what_the_papers_say_is_what_is_configured_or_has_a_reason(paper):
    lines = [settings.compare(entry, CONFIG) for entry in settings.load(ROOT / f"references/{paper}/settings.yaml")]
    assert sum(bool(line.equal) for line in lines) >= 30
    assert all(line.reason for line in lines if line.equal == "no")
    assert all(re.match(r"to be mended: (F\d+|new)\b", line.reason) for line in lines if "mended" in line.reason)


def test_the_command_writes_a_table_and_says_how_many_are_as_in_the_paper(tmp_path):
    out = tmp_path / "settings.csv"
    options = ["--references", ROOT / "references", "--config", ROOT / "config.yaml", "-o", out]
    done = CliRunner().invoke(cli, ["step", "settings", *map(str, options)], catch_exceptions=False)
    said = done.output.splitlines()
    assert [line.split(":")[0] for line in said] == sorted(PAPERS)
    assert all(" as in the paper, " in line and " for reasons" in line for line in said)
    assert out.read_text().startswith("paper,key,theirs,section,quote,ours,place,equal,reason\nartetxe2019,")
    assert out.read_text() == (ROOT / "results/small/settings.csv").read_text()  # the same whichever run it is of


RATE = {
    "key": "rate", "section": "4", "quote": "learning rate of 1.0", "paper": 1.0, "path": "encoders.nmt_autoencoder.training.learning_rate",
}  # fmt: skip
OTHER = {"ours": 1.0, "reason": "chosen here"}


def compared(tmp_path: Path, *entries: dict) -> list[settings.Compared]:
    path = tmp_path / "x2000/settings.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("# of a paper\n\n" + yaml.safe_dump(list(entries), sort_keys=False))
    return [settings.compare(entry, CONFIG) for entry in settings.load(path)]


def without(entry: dict, *keys: str) -> dict:
    return {key: value for key, value in entry.items() if key not in keys}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (RATE | {"path": "encoders.nmt_autoencoder.training.learning_rat"}, r"rate: the configuration has no `encoders\.nmt_autoencoder\.training\.learning_rat`: nothing at `learning_rat`; did you mean"),
        (RATE | {"path": "text.lowercase.de"}, r"nothing at `de`; it ends before that"),
        (without(RATE, "section"), r"'section' is a dependency of 'paper'; see"),
        (without(RATE, "quote"), r"'quote' is a dependency of 'paper'"),
        (without(RATE, "key"), r"'key' is a required property"),
        (RATE | {"sectoin": "4"}, r"'sectoin' was unexpected"),
        (RATE | {"section": 4}, r"4 is not of type 'string'"),
        (RATE | {"where": "bitextbench.config"}, r"needs `path` or `where`, one of them"),
        (without(RATE, "path"), r"needs `path` or `where`, one of them"),
        (RATE | {"reason": "chosen here"}, r"'ours' is a dependency of 'reason'"),
        (RATE | {"paper": 2.0}, r"learning_rate` is 1\.0, in the paper 2\.0; configure it so, or give `ours` and a `reason`"),
        (RATE | {"paper": 2.0} | OTHER | {"ours": 3.0}, r"is 1\.0, not 3\.0; write it as `ours`"),
        (RATE | OTHER, r"is 1\.0, as in the paper; remove `ours` and `reason`"),
        (RATE | {"path": "epoch(encoders.mm2as_25)"}, r"no function epoch; did you mean epochs"),
        (RATE | {"path": "epochs(corpora.mono)"}, r"`corpora\.mono` has no epochs"),
        (RATE | {"path": "bitextbench.mining.documents:M"}, r"`bitextbench\.mining\.documents` has no M"),
        (without(RATE, "path") | {"where": "bitextbench.mine.documents"}, r"no module bitextbench\.mine\.documents"),
    ],
)  # fmt: skip
def test_wrong_entries_are_errors_with_file_and_line(tmp_path, entry, message):
    right = RATE | {"key": "right"}
    with pytest.raises(InputError, match=rf"x2000/settings\.yaml:[89]: .*{message}"):
        compared(tmp_path, right, entry)


def test_a_key_stands_once_and_a_folder_has_settings(tmp_path):
    with pytest.raises(InputError, match=r"settings\.yaml:8: rate appears twice"):
        compared(tmp_path, RATE, {**RATE})
    with pytest.raises(InputError, match=r"no <paper>/settings\.yaml in this folder"):
        settings.write(ROOT / "envs", ROOT / "config.yaml", tmp_path / "out.csv")


def test_lists_constants_sums_and_choices_in_words(tmp_path):
    said = {"section": "4", "quote": "so"}
    lines = compared(
        tmp_path,
        {"key": "layers", **said, "paper": 320, "path": "encoders.dan_dual.en-fr.model.layers.1"},
        {"key": "weights", **said, "paper": [5, -2], "path": "bitextbench.mining.documents:WEIGHTS"},
        {"key": "mono", **said, "paper": 100_000_000, "path": "sum(corpora.mono.parts.*.lines)"},
        {
            "key": "words",
            **said,
            "paper": "word pieces",
            "where": "bitextbench.text.bpe",
            "ours": "BPE",
            "reason": "one tool",
        },
        {"key": "pooling", **said, "paper": "maximum", "where": "bitextbench.encoders.recurrent"},
        {"key": "clip", "path": "encoders.dan_dual.training.clip"},
    )
    assert [line.equal for line in lines] == ["yes", "yes", "yes", "no", "yes", ""]
    assert [line.ours for line in lines] == ["320", "5.0, -2.0", "100000000", "BPE", "maximum", "1000000000.0"]
    assert settings.summary(lines) == "settings: 4 of 5 as in the paper, 1 for reasons"


def test_epochs_are_updates_times_batch_by_pairs():
    config, un = copy.deepcopy(CONFIG), "encoders.shared_seq2seq_un"
    config["encoders"]["shared_seq2seq_un"]["training"] |= {"updates": 130_000, "batch": 1600}
    config["encoders"]["shared_seq2seq_un"] |= {
        "corpora": {"en-fr": "unpc.en-fr", "en-ru": "unpc.en-ru", "en-zh": "unpc.en-zh", "valid": "valid"}
    }
    both_directions = 2 * (30_340_652 + 25_173_398 + 17_451_549)
    assert amounts.epochs(config, un) == round(130_000 * 1600 / both_directions, 2) == 1.43
    assert amounts.examples(config, un) == 208_000_000
    assert amounts.tokens(config, un) == 1600 * amounts.TOKENS


def test_an_amount_of_an_uncounted_text_says_so():
    config = copy.deepcopy(CONFIG)
    config["corpora"]["two"] = {
        "parts": [{"dataset": "europarl-v7.de-en", "skip": 920_209}, {"dataset": "rapid2016.de-en"}]
    }
    config["corpora"]["one"] = {"parts": [{"dataset": "europarl-v7.de-en", "skip": 1_920_000, "lines": 1000}]}
    assert amounts.pairs(config, "corpora.two") == "at least 1,000,000; no count of rapid2016.de-en"
    assert amounts.pairs(config, "corpora.one") == 209
    config["encoders"]["nmt_autoencoder"] |= {"corpora": {"bitext": "two", "valid": "valid"}}
    config["encoders"]["nmt_autoencoder"]["training"] |= {"updates": 50_000, "batch": 120}
    assert amounts.epochs(config, "encoders.nmt_autoencoder") == "at most 3.0; no count of rapid2016.de-en"


def test_hard_negatives_and_directions_count_as_tokens():
    config = copy.deepcopy(CONFIG)
    for name, sentences in (("transformer_de.en-fr", 2 + 5), ("transformer_bide.en-fr", 2 + 2 * 5)):
        config["encoders"][name]["training"]["batch"] = 100
        config["encoders"][name]["hard"] |= {"count": 5, "share": 1.0}
        assert amounts.tokens(config, f"encoders.{name}") == 100 * sentences * amounts.TOKENS


def test_parameters_are_those_of_the_model_and_tables_do_not_compute():
    config = copy.deepcopy(CONFIG)
    config["text"]["features"]["europarl"]["vocab"] = 100
    config["encoders"]["shared_seq2seq"]["model"] |= {"embedding": 16, "hidden": 16, "decoder": 32, "language": 4}
    config["encoders"]["shared_seq2seq"]["training"] |= {"updates": 10, "batch": 2}
    encoder = 2 * 4 * 16 * (16 + 16 + 2)
    decoder = 4 * 32 * (16 + 32 + 4 + 32 + 2) + (32 + 1) * 2 * 32 + (32 + 1) * 100
    languages = len({name for pair in config["encoders"]["shared_seq2seq"]["model"]["pairs"].values() for name in pair})
    assert amounts.parameters(config, "encoders.shared_seq2seq") == encoder + decoder + 2 * 100 * 16 + languages * 4
    assert amounts.flops(config, "encoders.shared_seq2seq") == amounts.rounded(
        6 * (encoder + decoder) * 2 * amounts.TOKENS * 10
    )


def test_a_registry_entry_counts_in_whole_numbers(tmp_path):
    entry = {
        "name": "a",
        "langs": ["de"],
        "licence": "own",
        "tier": "core",
        "parsers": [],
        "files": [],
        "pairs": "many",
    }
    (tmp_path / "a.yaml").write_text(yaml.safe_dump([entry]))
    with pytest.raises(InputError, match="pairs is 'many'; give a whole number"):
        registry.read([tmp_path / "a.yaml"])
