"""The wheel alone, installed into an empty environment: its command, and all files that come with the code."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from checkout import copy_checkout


def run(*command: object, cwd: Path) -> str:
    bare = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_it_works_by_itself(tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    checkout = copy_checkout(tmp_path)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path, checkout]
    run(sys.executable, "-m", "pip", *build, cwd=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("bitextbench/")}
    assert held == {
        str(path.relative_to(checkout / "src"))
        for path in (checkout / "src/bitextbench").rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    run(sys.executable, "-m", "venv", "env", cwd=tmp_path)
    here = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")})
    # what it depends on is that of the tests, whose own bitextbench is not found by this line
    Path(here, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run("env/bin/python", "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    place = run("env/bin/python", "-c", "import bitextbench; print(bitextbench.__file__)", cwd=tmp_path)
    assert place.startswith(str(tmp_path / "env"))
    assert "--encoder" in run("env/bin/bitextbench", "mine", "--help", cwd=tmp_path)
    for name, text in (("a", "eins\nzwei\ndrei\n"), ("b", "one\ntwo\nthree\n")):
        (tmp_path / name).write_text(text)
        np.save(tmp_path / f"{name}.npy", np.eye(3, 4, dtype=np.float32))
    run(
        "env/bin/bitextbench",
        *["mine", "a", "b", "--src-emb", "a.npy", "--tgt-emb", "b.npy", "--margin", "cosine", "-o", "p.tsv"],
        cwd=tmp_path,
    )
    assert (tmp_path / "p.tsv").read_text().count("\n") == 3
    languages = ("--src-language", "de", "--tgt-language", "en")
    assert "3 pairs" in run("env/bin/bitextbench", "filter", "a", "b", *languages, "-o", "f.tsv", cwd=tmp_path)
