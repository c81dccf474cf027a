import hashlib
import json
import subprocess

import pytest

from bitextbench.base import versions
from bitextbench.base.errors import InputError
from bitextbench.report import provenance

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def benchmark(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(f"{s}\t0:00:00\t{rss}\t1\t1\t1\t0\t0\t0\t{cpu}\n" for s, rss, cpu in rows))


@pytest.fixture
def benchmarks(tmp_path):
    folder = tmp_path / "benchmarks"
    benchmark(folder / "train" / "a.tsv", (10.0, 300.5, 9.0))
    benchmark(folder / "train" / "deep" / "b.tsv", (2.5, 700.0, 4.0))
    benchmark(folder / "train" / "c.tsv", (0.25, "NA", "NA"))
    benchmark(folder / "select" / "a.tsv", (0.5, "-", "-"), (1.0, "nan", "-"))
    return folder


def test_time_and_memory_worked_out_by_hand(benchmarks):
    names = ("rule", "jobs", "sampled", "wall_s_sum", "wall_s_max", "cpu_s_sum", "max_rss_mb")
    rules = provenance.resources(benchmarks)
    assert rules == [
        dict(zip(names, ("select", 2, 0, 1.5, 1.0, None, None), strict=True)),
        dict(zip(names, ("train", 3, 2, 12.75, 10.0, 13.0, 700.0), strict=True)),
    ]
    total = provenance.totals(rules)
    assert [total[key] for key in ("jobs", "wall_s_sum", "wall_s_max", "cpu_s_sum", "max_rss_mb")] == [
        5,
        14.25,
        10.0,
        13.0,
        700.0,
    ]


def test_no_benchmarks(tmp_path):
    assert provenance.resources(tmp_path / "absent") == []
    assert provenance.totals([])["wall_s_sum"] is None


def test_a_damaged_benchmark_is_refused(tmp_path):
    (tmp_path / "rule").mkdir()
    (tmp_path / "rule" / "a.tsv").write_text("seconds\tmax_rss\n1\t2\n")
    with pytest.raises(InputError, match=r"a\.tsv:2: no column s"):
        provenance.resources(tmp_path)


def test_collect(tmp_path, benchmarks):
    counts = tmp_path / "counts.json"
    counts.write_text('{"kept": 3}')
    score = tmp_path / "bleu.json"
    score.write_text('{"signature": "nrefs:1", "value": 1.0}')
    manifest = tmp_path / "manifest.json"
    file = {
        "path": "a.gz",
        "url": "https://example.org/a.gz",
        "bytes": 3,
        "sha256": "00",
        "checksum": "recorded",
        "from": "mirror",
    }
    manifest.write_text(json.dumps({"dataset": "news", "licence": "CC0", "tier": "open", "files": [file]}))
    out = tmp_path / "provenance.json"
    provenance.collect({"run": "tiny", "seed": 1}, [score, manifest, counts], benchmarks, out)
    found = json.loads(out.read_text())
    assert found["signature"] == ["nrefs:1"]
    assert found["data"] == [{"dataset": "news", "licence": "CC0", **file}]
    assert [entry["path"] for entry in found["inputs"]] == sorted(map(str, (counts, score, manifest)))
    assert found["inputs"][1]["sha256"] == hashlib.sha256(b'{"kept": 3}').hexdigest()
    assert found["config"] == {"run": "tiny", "seed": 1}
    assert found["config_sha256"] == hashlib.sha256(b'{"run": "tiny", "seed": 1}').hexdigest()
    assert found["packages"]["numpy"]
    assert found["hardware"]["cores"] >= 1
    assert found["hardware"]["memory_gib"] > 0
    assert found["time_and_memory"]["wall_s_sum"] == 14.25


def test_the_checksum_of_a_configuration_does_not_depend_on_its_order(tmp_path):
    sums = []
    for config in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}):
        provenance.collect(config, [], tmp_path / "none", tmp_path / "out.json")
        sums.append(json.loads((tmp_path / "out.json").read_text())["config_sha256"])
    assert sums[0] == sums[1]


def test_a_missing_input_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(InputError, match=r"counts\.json: no such file"):
        provenance.collect({}, [tmp_path / "counts.json"], tmp_path, tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_commit(tmp_path):
    def git(*words):
        subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True,
            capture_output=True,
        )

    package = tmp_path / "src"
    package.mkdir()
    (package / "a.py").write_text("1")
    unknown = {"commit": "unknown", "dirty": None}
    assert provenance.commit(package) == unknown  # no checkout
    git("init")
    assert provenance.commit(package) == unknown  # in a checkout, but not of it
    git("add", ".")
    git("commit", "-m", "a")
    clean = provenance.commit(package)
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "table2.csv").write_text("new")
    assert provenance.commit(package) == clean
    (package / "a.py").write_text("2")
    assert provenance.commit(package) == {**clean, "dirty": True}


def test_an_absent_package_has_no_version():
    assert versions.installed("no-such-package-here") is None
