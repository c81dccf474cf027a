"""Each family of rules in an environment of its own, as profiles/slurm-conda has it made; a stand-in takes the solver's place."""

import os
import re
import subprocess
import sys
from pathlib import Path

import conda_stand_in
import golden
import pytest
from checkout import ROOT, copy_checkout, environment, laid_over, snakemake

from bitextbench.base import sources
from bitextbench.base.json_yaml import read_json

# of these packages; torch and faiss come together, as builds for CPUs or for CUDA
HELD = {"data": set(), "embed": {"faiss", "torch"}, "nmt": {"fairseq", "faiss", "torch"}, "report": set()}


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """The folder in which Snakemake makes them, and the checkout that it makes them for."""
    folder = tmp_path_factory.mktemp("conda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{conda_stand_in.write(folder)}{os.pathsep}{os.environ['PATH']}")
        yield folder / "envs", copy_checkout(folder)


@pytest.mark.slow
def test_a_run_in_them_makes_the_golden_bytes(environments):
    envs, root = environments
    (root / "rows.yaml").write_text("selection: {methods: [random, mlp]}")
    *options, end = laid_over("config/tiny.yaml", "tests/micro.yaml", "rows.yaml")
    conda = "--workflow-profile", "profiles/slurm-conda", "--conda-prefix", str(envs)
    snakemake(*options, *conda, end, "results/micro/table2.csv", cwd=root)
    made = {entry: found for entry, found in golden.files(root, "micro").items() if golden.stage(entry) != "results"}
    assert made.items() <= read_json(ROOT / "tests/golden/micro.json")["files"].items()
    assert {"encoders/nmt_autoencoder/", "selected/mlp.10M/1/", "metrics/bleu/mlp.10M/1/"} < made.keys()


@pytest.mark.slow
def test_a_family_has_nothing_of_another(environments):
    held = {}
    for made in environments[0].glob("*.yaml"):
        family = re.search(r"envs/lock/(\w+)\.txt", made.read_text())[1]
        held[family] = {name for name in set().union(*HELD.values()) if holds(made.with_suffix(""), name)}
    assert held == HELD


def holds(environment: Path, module: str) -> bool:
    asked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([environment / "bin/python", "-c", asked]).returncode == 0


@pytest.mark.parametrize("family", [family for family, has in HELD.items() if len(has) < len(HELD["nmt"])])
def test_commands_import_nothing_that_their_family_has_not(family):
    """The fast half of what the runs above show: what a family's commands import loads without the packages of others."""
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk")).split("\nrule ")
    texts = "".join(rule for rule in rules if f"envs/{family}.yaml" in rule)
    commands = re.findall(r"bitextbench ((?:step |evaluate )?[\w-]+)", texts)
    modules = set().union(*map(sources.imports, commands))
    if family == "data":
        modules.remove("encoders.e5")  # of `fetch`, where the rule `packaged` calls it
    blocked = set().union(*HELD.values()) - HELD[family]
    code = f"""import sys; sys.modules.update(dict.fromkeys({sorted(blocked)}))
for name in {sorted(modules)}: __import__(f"bitextbench.{{name}}")"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
