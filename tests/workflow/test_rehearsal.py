"""config/rehearsal.yaml: config.yaml with other numbers, and nothing else; and how its rules are gone through."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import checkout
import rehearsal
from checkout import ROOT, copy_checkout

from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.encoders import create


def differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{number}]")
    elif one != other or type(one) is not type(other):
        yield place, one, other


def thresholds_left_out(config: dict[str, Any]) -> dict[str, Any]:
    """Without the translations of the study of thresholds, whose names have the number of their pairs."""
    for section in ("translations", "transformers"):
        config[section] = {
            name: entry for name, entry in config[section].items() if not name.split(".")[0][-1].isdigit()
        }
    return config


def test_the_rehearsal_names_only_numbers():
    ours = thresholds_left_out(resolve(read([ROOT / "config.yaml"])))
    small = thresholds_left_out(resolve(read([ROOT / "config.yaml"], [ROOT / "config/rehearsal.yaml"])))
    found = list(differences(ours, small))
    assert not [one for one in found if not all(type(value) in (int, float) for value in one[1:])]
    assert not [place for place, one, other in found if other > one]
    assert len(found) > 500


def test_its_encoders_can_be_made():
    encoders = resolve(read([ROOT / "config.yaml"], [ROOT / "config/rehearsal.yaml"]))["encoders"]
    for entry in encoders.values():
        words = {"words": 300} if entry["type"] in ("dan_dual", "transformer_dual") else {}
        assert create(entry | {"model": entry["model"] | words}, 300).vocab_size == 300
    assert len({entry["type"] for entry in encoders.values()}) > 5


def test_a_second_call_finds_its_copy_and_brings_what_has_changed(tmp_path):
    repo = copy_checkout(tmp_path)
    (repo / "config.yaml").write_text("old")
    before = {
        path: path.stat().st_mtime_ns for path in repo.rglob("*") if path.is_file() and path.name != "config.yaml"
    }
    assert copy_checkout(tmp_path) == repo
    assert (repo / "config.yaml").read_bytes() == (ROOT / "config.yaml").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_one_job_of_each_rule_in_rounds():
    said = checkout.snakemake("--profile", "slurm", "-n", "--forceall", "--", "results/table2.csv").stdout
    jobs = rehearsal.parsed(said)
    counted = checkout.jobs(said)
    assert Counter(job.rule for job in jobs) == {rule: counted[rule] for rule in counted.keys() - {"total"}}
    maker = {file: job for job in jobs for file in job.makes}
    found = rehearsal.rounds(jobs)
    assert sorted(maker[file].rule for files in found for file in files) == sorted(counted.keys() - {"total"})
    for files in found:
        before, wanted = set(), {need for file in files for need in maker[file].needs}
        while wanted:
            before |= wanted
            wanted = {need for file in wanted & maker.keys() for need in maker[file].needs} - before
        assert not before & {file for chosen in files for file in maker[chosen].makes}
