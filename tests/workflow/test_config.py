"""What the schema accepts, and how it says no."""

import copy
import json
import re
from dataclasses import fields
from functools import cache
from inspect import signature
from pathlib import Path

import pytest
from checkout import OVERLAYS
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import parse
from bitextbench.config import QUALITY
from bitextbench.config.overlays import laid_over, read
from bitextbench.config.resolution import resolve
from bitextbench.config.schema import schema
from bitextbench.config.seeds import add_seed
from bitextbench.config.studies import (
    judged,
    margin_encoders,
    poolings,
    scorers,
    selectors,
    shares,
    threshold_translations,
)
from bitextbench.corpus.noise import KINDS
from bitextbench.corpus.prefilter import RULES
from bitextbench.encoders.trainer import Training
from bitextbench.encoders.word_mapping import Settings, skip_gram

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src/bitextbench/config/schema.yaml"


@cache
def held(*overlays: str) -> dict:
    return read([ROOT / "config.yaml"], [ROOT / "config" / name for name in overlays])


def load(*overlays: str) -> dict:
    return copy.deepcopy(held(*overlays))


NAMES = sorted(str(path.relative_to(ROOT / "config")) for path in (ROOT / "config").rglob("*.yaml"))


@pytest.mark.parametrize("overlay", [None, *NAMES])
def test_every_configuration_of_the_repository_is_valid(overlay):
    names = re.findall(r"config/(\S+\.yaml)", OVERLAYS.get(overlay, "")) or [overlay] * bool(overlay)
    whole = resolve(load(*names))
    assert resolve(whole) == whole


def changed(place: str, value) -> dict:
    config = load()
    *path, last = place.split(".")
    target = config
    for key in path:
        target = target[key]
    target[last] = value
    return config


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("corpra", {}, r"unknown key `corpra`; did you mean `corpora: \{\}`\?"),
        ("corpora.pool.filtre", {}, r"unknown key `corpora.pool.filtre`; did you mean `filter: \{\}`\?"),
        ("nmt.togeter", 2, r"unknown key `nmt.togeter`; did you mean `together: 2`\?"),
        ("nmt.model", 3, r"unknown key `nmt.model`"),
        (
            "selection.budgets",
            {"10M": "many"},
            r"`selection.budgets.10M: many` is wrong: 'many' is not of type 'integer'",
        ),
        ("selection.methods", ["cosin"], r"`selection.methods` names `cosin`, .*did you mean cosine"),
        ("selection.budgets", {"10M": 0}, r"`selection.budgets.10M: 0` is wrong: 0 is less than the minimum of 1"),
        (
            "corpora.pool.exclude",
            ["positive"],
            r"`corpora.pool.exclude` names `positive`, which is not defined; did you mean positives",
        ),
        (
            "methods.mlp.encoder",
            "nmt_autoencodr",
            r"`methods.mlp.encoder` names `nmt_autoencodr`.*did you mean nmt_autoencoder",
        ),
        (
            "encoders.transformer_de.hard.by",
            "dan_dul",
            r"hard.by` names `dan_dul`, which is not defined; did you mean dan_dual",
        ),
        ("text.features.ngrams.corpora", ["bitxt"], r"`text.features.ngrams.corpora` names `bitxt`.*mean bitext"),
        ("text.features.joint.vocb", 5, r"unknown key `text.features.joint.vocb`; did you mean `vocab: 5`"),
        ("text.features.joint.type", "bpes", r"`text.features.joint.type: bpes` is wrong"),
        ("encoders.dan_dual.features", "word", r"`encoders.dan_dual.features` names `word`.*did you mean words"),
        ("encoders.dan_dual.corpora.bitext", "bitxt", r"corpora.bitext` names `bitxt`.*did you mean bitext"),
        ("corpora.bitext.pair", {"src": "de"}, r"`corpora.bitext.pair.tgt` is missing"),
        (
            "encoders.nmt_autoencoder.training.bach",
            3,
            r"unknown key `encoders.nmt_autoencoder.training.bach`; did you mean `batch: 3`\?",
        ),
    ],
)
def test_a_wrong_key_or_value_shows_the_right_one(place, value, message):
    with pytest.raises(InputError, match=message):
        resolve(changed(place, value))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("methods.cosine.similarity", "cosin", "`methods.cosine.similarity` names `cosin`, .*did you mean cosine"),
        ("methods.cosine.hiden", [8], "unknown key `methods.cosine.hiden`; known keys: similarity, pair, seed, encoder"),
        ("methods.mlp.hiden", [8], r"unknown key `methods.mlp.hiden`; did you mean `hidden: \[8\]`"),
        ("methods.margin.margin", "ratoi", "`methods.margin.margin: ratoi` is wrong"),
        ("encoders.dan_dual.type", "dan_duall", "`encoders.dan_dual.type` names `dan_duall`, .*did you mean dan_dual"),
        ("encoders.dan_dual.model.hiden", 5, "unknown key `encoders.dan_dual.model.hiden`; known keys: embedding"),
        ("encoders.dan_dual.model.embeding", 5, "unknown key .*model.embeding`; did you mean `embedding: 5`"),
        ("encoders.dan_dual.model.words", 5, "unknown key `encoders.dan_dual.model.words`"),  # its features say
        ("encoders.dan_dual.model.embedding", "3x", "`encoders.dan_dual.model.embedding: 3x` is wrong"),
        ("encoders.dan_dual.model.sparse", 1, "`encoders.dan_dual.model.sparse: 1` is wrong"),
        ("encoders.dan_dual.model.layers", 320, "`encoders.dan_dual.model.layers: 320` is wrong"),
        ("encoders.dan_dual.training.max_tokens", "3x", "`encoders.dan_dual.training.max_tokens: 3x` is wrong"),
        ("encoders.mm2as_25.training.valid_every", 1000, "valid_every: 1000` is more than its 20 updates"),
        ("encoders.mm2as_25.hard", {"by": "dan_dual", "count": 5, "share": 1.0, "similarity": "dot"},
         "encoders.mm2as_25: an encoder of type descriptor_autoencoder is not trained on `hard`; remove it; this type is trained on valid, bitext"),
        ("encoders.pivot_nmt.corpora.mono", "mono", "an encoder of type pivot_nmt is not trained on `mono`; .* on valid, pivot_src, pivot_tgt"),
        ("encoders.shared_seq2seq.corpora.bitext", "bitext", "an encoder of type shared_seq2seq is not trained on `bitext`"),
        ("corpora.pool.filter.max_tokns", 80, "unknown key `corpora.pool.filter.max_tokns`; did you mean `max_tokens: 80`"),
        ("corpora.pool.filter.max_tokens", "3x", "`corpora.pool.filter.max_tokens: 3x` is wrong"),
        ("corpora.pool.filter.language", "py3langd", "filter.language` names `py3langd`, .*did you mean py3langid"),
        ("corpora.pool.parts", [{"files": {"src": "a.de"}}], "`corpora.pool.parts.0.files.tgt` is missing; add it, or say"),
        ("corpora.positives.pair", {"src": "de", "tgt": "eng"}, "asks for `eng` of newstest2008.de-en, .*did you mean en"),
        ("corpora.pool.noise", {"proportions": {"misalined": 0.1}}, "did you mean `misaligned: 0.1`"),
        ("word_vectors.joint.mapping.restart", 2, "unknown key .*; did you mean `restarts: 2`"),
        ("word_vectors.joint.encoded", {"name": "muse", "min_count": 2}, "unknown key .*known keys: features, corpora, encoded"),
        (
            "word_vectors.x",
            {"corpora": {"src": ["bitext"], "tgt": ["bitext"]}},
            "`word_vectors.x.skip_gram` is missing; or encoded: how the vectors are made",
        ),
        ("word_vectors.joint.features", "pivot", "reads pieces of joint, but its `vectors: joint` are of pivot"),
        ("word_vectors.joint.features", "words", "`word_vectors.joint.features` names `words`, .*known: joint"),
        ("translations", {"filtered_margin.en-de": {"train": {"corpora": ["un"]}, "nmt": "base", "valid": "valid", "test": "valid"}},
         "`translations.filtered_margin.en-de.train.corpora` names `un`"),
        ("studies.budget", "10m", "`studies.budget` names `10m`, which is not defined; did you mean 10M"),
        ("memory.nmt_trian", 5, "unknown key `memory.nmt_trian`; did you mean `nmt_train: 5`"),
        ("examples.yang2019/table7.encoder", "dan", "`examples.yang2019/table7.encoder` names `dan`"),
    ],
)  # fmt: skip
def test_all_that_is_wrong_is_told_when_a_run_is_planned(place, value, message):
    with pytest.raises(InputError, match=message):
        resolve(changed(place, value))


def test_a_language_identifier_is_one_of_the_run_or_a_file():
    resolve(laid_over(load(), {"corpora": {"pool": {"filter": {"language": "models/own.bin"}}}}))
    own = {"language_models": {"own": {"corpora": ["bitext"], "lines": 5}}}
    resolve(laid_over(load(), own | {"corpora": {"pool": {"filter": {"language": "own"}}}}))


def test_the_schema_has_what_its_readers_have():
    parts = schema()["$defs"]
    assert [*parts["filter"]["properties"]] == [*RULES]
    assert [*parts["corpus"]["properties"]["noise"]["properties"]["proportions"]["properties"]] == [*KINDS]
    assert [*parts["mapping"]["properties"]] == [field.name for field in fields(Settings)]
    assert parts["skip_gram"]["properties"].keys() < signature(skip_gram).parameters.keys()
    training = parts["training"]["properties"]
    assert [*training] == [field.name for field in fields(Training)]
    assert parse(SCHEMA.read_text(), SCHEMA)["$defs"].keys() == parts.keys()  # no key twice


def test_monolingual_text_of_one_s_own_says_its_side():
    resolve(changed("corpora.mono.parts", [{"files": {"src": "a.de"}, "side": "src"}]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nseed: 2\n", r"own\.yaml:2: the key `seed` appears twice; remove one"),
        ("nmt: {layers: 1, layers: 2}\n", r"own\.yaml:1: the key `layers` appears twice; remove one"),
        ('{"seed": 1, "seed": 2}', r"own\.yaml: the key `seed` appears twice; remove one"),
        ("- seed", r"own\.yaml: not a mapping"),
    ],
)
def test_a_key_that_appears_twice_is_refused(tmp_path, text, message):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read([ROOT / "config.yaml"], [tmp_path / "own.yaml"])


def test_files_are_read_as_snakemake_reads_them_but_for_numbers(tmp_path):
    paths = [ROOT / "config.yaml", ROOT / "config/tiny.yaml", tmp_path / "own.yaml"]
    paths[2].write_text("nmt: {learning_rate: 1e-3}\n")
    theirs = {}
    for path in (*paths[1:], *paths):  # overlays come first, and last
        update_config(theirs, load_configfile(path))
    assert theirs["nmt"]["learning_rate"] == "1e-3"
    theirs["nmt"]["learning_rate"] = 0.001
    ours = read(paths[:1], paths[1:])
    assert json.dumps(ours) == json.dumps(theirs)  # in the same order


def test_a_run_has_the_encoders_of_its_studies_and_seeds():
    whole = resolve(load("tiny.yaml", "studies.yaml"))
    assert (0.3, 1, "transformer_bide_am.en-fr") in margin_encoders(whole)
    assert whole["encoders"]["transformer_bide_am.en-fr.margin0.1"]["model"]["margin"] == 0.1
    assert whole["methods"]["mlp.seed5"]["encoder"] == "nmt_autoencoder.seed5"
    assert whole["methods"]["negatives-worst60.seed2"]["negatives"] == {"by": "cosine.seed2", "portion": 0.6}


def test_text_of_paper_scale_has_no_longer_sentences_than_its_encoders_learn_from():
    """In words of any language: what a filter keeps beyond that is dropped by the training, and still counted as its text."""
    config = resolve(load())
    limits = {
        (corpus, config["corpora"][corpus]["filter"]["max_tokens"], encoder["training"]["max_tokens"])
        for encoder in config["encoders"].values()
        if encoder["type"] in ("dan_dual", "transformer_dual", "shared_seq2seq")
        for role, corpus in encoder["corpora"].items()
        if role not in ("valid", "calibration")
    }
    assert {corpus for corpus, *_ in limits} > {"crawl.en-fr", "crawl.en-zh", "unpc.en-zh", "europarl.de-en"}
    assert [limit for limit in limits if limit[1] > limit[2]] == []


def test_a_comparison_of_poolings_fills_the_table_of_section_3_of_kim2019():
    rows = ["max", "mean", "first", "last", "attention"]
    made = poolings(resolve(load("tiny.yaml", "poolings.yaml")))
    assert [(row, seed) for row, seed, _ in made] == [(row, seed) for row in rows for seed in (1, 2)]
    assert {name for row, _, name in made if row == "max"} == {"nmt_autoencoder", "nmt_autoencoder.seed2"}
    assert poolings(resolve(load("tiny.yaml", "tiny-encoders.yaml"))) == [], "max alone compares nothing"


def test_tables_of_scorers_have_seeds_of_what_learns():
    config = resolve(read(["config.yaml"], ["config/small.yaml", "config/studies.yaml"]))
    of = {method: [made for name, _, made in selectors(config) if name == method] for method in ("margin", "oracle")}
    assert of == {"margin": ["margin", "margin.seed2", "margin.seed3"], "oracle": ["oracle"]}
    assert {*of["margin"]} < config["methods"].keys()
    assert shares(config) == [("mlp", 1, "mlp"), *(("mlp", seed, f"mlp.seed{seed}") for seed in range(2, 6))]
    one = resolve(config | {"seeds_of": {QUALITY: [2]}})
    assert [seed for corpus, name, seed, _ in judged(one) if corpus == "human_v3"] == [2, 2, 2, 2, 2, 1, 1, 1]


def test_thresholds_are_translations_of_as_many_epochs():
    whole = resolve(load())
    names = threshold_translations(whole)
    assert [*names] == [2_500_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000]
    assert names[10_000_000] == "filtered_margin.en-de"
    for pairs, name in names.items():
        translation = whole["translations"][name]
        assert translation["train"]["selected"]["pairs"] == pairs
        size = whole["transformers"][translation["nmt"]]
        assert (size["max_updates"], size["embed_dim"]) == (67_000 * pairs // 10_000_000, 1024)
    no_selection = {"studies": {"thresholds": {"translation": "wmt.en-de"}}}
    with pytest.raises(
        InputError, match=r"`studies.thresholds.translation: wmt.en-de` is not trained on selected pairs"
    ):
        resolve(laid_over(load(), no_selection))
    assert threshold_translations(resolve(load("tiny.yaml"))) == {}


def test_a_missing_key_is_named():
    config = load()
    del config["selection"]["corpus"]
    with pytest.raises(InputError, match=r"`selection.corpus` is missing; the pool to select from"):
        resolve(config)


def test_null_leaves_a_named_entry_out():
    left_out = {"methods": {"mlp": None}, "examples": None, "studies": None}
    config = resolve(laid_over(load(), left_out | {"selection": {"methods": ["pivot"], "budgets": {"100M": None}}}))
    assert "mlp" not in config["methods"]
    assert {"random", "pivot", "cosine"} < {*config["methods"]}
    assert "studies" not in config
    assert [*config["selection"]["budgets"]] == ["10M"]


@pytest.mark.parametrize("first", [True, False])
def test_an_entry_of_one_pair_says_what_differs(first):
    plain, config, name = resolve(load())["encoders"], load(), "transformer_de.en-ru"
    differs = {name: {"model": {"scale": 2.0}}}
    config["encoders"] = differs | config["encoders"] if first else config["encoders"] | differs
    made = resolve(config)["encoders"]
    assert made.pop(name)["model"] == plain[name]["model"] | {"scale": 2.0}
    assert made == {other: encoder for other, encoder in plain.items() if other != name}


def test_a_method_for_each_portion():
    config = resolve(load())
    made = {name: method["negatives"] for name, method in config["methods"].items() if name.startswith("negatives-")}
    assert made["negatives-worst60"] == {"by": "cosine", "portion": 0.6, "count": 100_000}  # kim2019 section 5.2
    assert [*made] == [f"negatives-{row}" for row in ("random", "worst20", "worst40", "worst60", "worst80", "worst100")]
    assert {"random", "pivot", "nmt_lm", "cosine", "mlp", "margin", "zipporah"} < {*scorers(config)}
    assert not {"oracle", "bicleaner_v3", "negatives", "negatives-worst60"} & {*scorers(config)}


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({"quality": {"corpora": {"pol": []}}}, "`quality.corpora` names `pol`"),
        ({"quality": {"corpora": {"pool": ["zipora"]}}}, "`quality.corpora.pool` names `zipora`"),
        ({"studies": {"negatives": "negative"}}, "`studies.negatives` names `negative`"),
        ({"methods": {"mlp": {"negatives": {"portions": [0.5]}}}}, "negatives"),
        (
            {"language_models": {"own": {"corpora": ["bitxt"], "lines": 5}}},
            "`language_models.own.corpora` names `bitxt`",
        ),
        ({"methods": {"zipporah": {"bitext": "bitxt"}}}, "`methods.zipporah.bitext` names `bitxt`"),
        (
            {"corpora": {"valid": {"parts": [{"dataset": "newstest2106.de-en"}]}}},
            "`corpora.valid.parts.0.dataset` names `newstest2106.de-en`, which is not defined; did you mean newstest20",
        ),
        (
            {"text": {"features": {"bert": {"dataset": "bert"}}}},
            "`text.features.bert.dataset` names `bert`, which is not defined",
        ),
    ],
)
def test_names_of_quality_and_studies(overlay, message):
    with pytest.raises(InputError, match=message):
        resolve(laid_over(load(), overlay))


SECTIONS = (
    "corpora", "encoders", "methods", "text.features", "likelihoods", "rescorers", "word_vectors", "language_models",
    "transformers", "translations", "selection.budgets",
)  # fmt: skip
EVIL = ("x$(touch PWNED)", "-rf", "a b", "a\n", "a/b", "..", "it's", 10, "", "ü", "x" * 81)


@pytest.mark.parametrize(
    ("section", "name"), [*((section, EVIL[0]) for section in SECTIONS), *(("corpora", name) for name in EVIL[1:]), ("selection.budgets", "1.5M")]
)  # fmt: skip
def test_names_that_are_no_names_are_refused(section, name):
    config = load()
    target = config
    for key in section.split("."):
        target = target.setdefault(key, {})
    target[name] = {}
    with pytest.raises(InputError, match=re.escape(f"`{section}` has the key {name!r}, which is not a name")):
        resolve(config)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("run", "tiny;reboot", "`run: tiny;reboot` is not a name of"),
        ("pair.src", "de$(reboot)", "`pair.src: de$(reboot)` is not a language code"),
        ("pair.src", "de\n", r"`pair.src: 'de\n'` is not a language code"),
        ("methods.mlp.similarity", "../mlp", "`methods.mlp.similarity: ../mlp` is not a name"),
        ("data", "raw/{dataset}", "`data: raw/{dataset}` is not a path"),
        ("mirrors", ["a\nb"], r"`mirrors.0: 'a\nb'` is not a path"),
        ("corpora.pool.parts", [{"files": {}}], "should be non-empty"),
        ("corpora.pool.parts", [{"generated": "pool", "lines": -5}], "`corpora.pool.parts.0.lines: -5` is wrong"),
        ("corpora.pool.shards", 100_000, "`corpora.pool.shards: 100000` is wrong"),
        ("corpora.pool.filter", {"max_ratio": float("nan")}, "`corpora.pool.filter.max_ratio: nan` is wrong"),
        ("seed", -1, "`seed: -1` is wrong"),
        ("seeds", [1, 1], "has non-unique elements"),
        ("nmt.max_updates", 1e6, "`nmt.max_updates: 1000000.0` is wrong: 1000000.0 is not of type 'integer'"),
        ("nmt.learning_rate", float("nan"), "`nmt.learning_rate: nan` is wrong"),
        ("nmt.length_penalty", float("inf"), "`nmt.length_penalty: inf` is wrong"),
    ],
)
def test_values_that_no_command_takes_are_refused(place, value, message):
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        resolve(changed(place, value))
    assert "\n" not in str(refused.value)


def test_an_entry_of_another_seed_learns_from_entries_of_that_seed():
    config = {
        "seed": 1,
        "encoders": {"e": {"type": "x"}, "h": {"hard": {"by": "e", "count": 2}}},
        "likelihoods": {"l": {"gpus": 0}},
        "methods": {
            "cosine": {"similarity": "cosine", "encoder": "h"},
            "mlp": {"similarity": "mlp", "encoder": "e", "negatives": {"by": "cosine", "portion": 0.6}},
            "nmt": {"similarity": "nmt_lm", "likelihoods": "l"},
            "random": {"similarity": "random"},
            "sure.en-fr": {"similarity": "confidence", "encoder": "e", "tuned": {"by": "cosine"}},
        },
        "rescorers": {"r": {"encoder": "h", "start": {"encoder": "e"}}},
        "translations": {
            "mined.en-fr": {"train": {"mined": {"encoder": "h"}}},
            "chosen.en-fr": {"train": {"selected": {"method": "sure.en-fr"}}},
            "whole.en-fr": {"train": {"corpora": ["c"]}},
        },
    }
    before = copy.deepcopy(config)
    assert [add_seed(config, "methods", name, 1) for name in before["methods"]] == list(before["methods"])
    assert config == before
    names = [add_seed(config, "methods", name, 3) for name in before["methods"]]
    assert names == ["cosine.seed3", "mlp.seed3", "nmt.seed3", "random.seed3", "sure.seed3.en-fr"]
    made = config["methods"]
    assert made["mlp.seed3"]["negatives"] == {"by": "cosine.seed3", "portion": 0.6}
    assert (made["mlp.seed3"]["encoder"], made["nmt.seed3"]["likelihoods"]) == ("e.seed3", "l.seed3")
    assert config["encoders"]["h.seed3"] == {"hard": {"by": "e.seed3", "count": 2}, "seed": 3}
    assert made["random.seed3"] == {"similarity": "random", "seed": 3}
    assert made["sure.seed3.en-fr"]["tuned"] == {"by": "cosine.seed3"}
    assert add_seed(config, "rescorers", "r", 3) == "r.seed3"
    assert config["rescorers"]["r.seed3"] == {"encoder": "h.seed3", "start": {"encoder": "e.seed3"}, "seed": 3}
    translations = [add_seed(config, "translations", name, 3) for name in before["translations"]]
    assert translations == ["mined.seed3.en-fr", "chosen.seed3.en-fr", "whole.seed3.en-fr"]
    assert [config["translations"][name]["train"] for name in translations] == [
        {"mined": {"encoder": "h.seed3"}}, {"selected": {"method": "sure.seed3.en-fr"}}, {"corpora": ["c"]},
    ]  # fmt: skip
    assert {kind: config[kind].keys() & before[kind].keys() for kind in ("encoders", "methods")} == {
        kind: before[kind].keys() for kind in ("encoders", "methods")
    }


def test_a_mapping_that_inherits_nothing(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "corpora: {pool: {inherit: false, parts: [{files: {pairs: crawl.tsv}, doc: line}]}}"
    )
    (tmp_path / "more.yaml").write_text("corpora: {pool: {deduplicate: true}}")
    overlays = [ROOT / "config/small.yaml", tmp_path / "mine.yaml", tmp_path / "more.yaml"]
    pool = read([ROOT / "config.yaml"], overlays)["corpora"]["pool"]
    assert pool == {"parts": [{"files": {"pairs": "crawl.tsv"}, "doc": "line"}], "deduplicate": True}
    assert "noise" in held("small.yaml")["corpora"]["pool"]


def test_what_a_null_took_out_stays_out_under_a_later_key(tmp_path):
    (tmp_path / "base.yaml").write_text("corpora: {crawl: {parts: [a], filter: {max_tokens: 100}}}")
    (tmp_path / "small.yaml").write_text("corpora: {crawl: null}")
    (tmp_path / "mine.yaml").write_text("corpora: {crawl: {exclude: [dev]}}")
    overlays = [tmp_path / "small.yaml", tmp_path / "mine.yaml"]
    assert read([tmp_path / "base.yaml"], overlays) == {"corpora": {"crawl": {"exclude": ["dev"]}}}
    assert read([tmp_path / "base.yaml"], overlays[1:])["corpora"]["crawl"]["parts"] == ["a"]


def test_german_encoders_on_published_sets_learn_from_text_of_small():
    parts = resolve(held("small.yaml", "published.yaml", "published-small.yaml"))["corpora"]["crawl.en-de"]["parts"]
    assert [part["dataset"] for part in parts] == [
        "tatoeba-manythings.de-en", "multi30k-train.de-en-fr", "newstest2008-2013", "bible"
    ]  # fmt: skip


def test_what_kim2019_trains_on_leaves_out_every_test_set_that_it_is_measured_on():
    config = resolve(load())
    corpora = config["corpora"]

    def texts(names):
        return {part["dataset"] for name in names for part in corpora[name]["parts"]}

    tests = texts([config["nmt"]["valid"], *config["nmt"]["tests"], *config["likelihoods"]["aligners"]["align"]])
    assert len(tests) == 4
    for name in ("bitext", "mono", "mono_tgt", "pivot_src", "pivot_tgt", config["selection"]["corpus"]):
        assert texts(corpora[name]["exclude"]) == tests, name


@pytest.mark.parametrize("kind", ["crawl", "europarl", "unpc", "unpc6"])
def test_the_longest_sentence_has_as_many_words_in_each_language(kind):
    """`max_tokens` counts words of English, in Chinese as well: see `corpus.words`."""
    corpora = resolve(load())["corpora"]
    limits = {name: held["filter"]["max_tokens"] for name, held in corpora.items() if name.split(".")[0] == kind}
    assert set(limits.values()) == {100}, limits
    assert len(limits) >= 3
