"""A `conda` for tests where no channel can be reached: venvs of the very pins, in the place of what the solver makes.

    python tests/conda_stand_in.py FOLDER      # FOLDER/bin/conda and FOLDER/bin/activate, as Snakemake calls them

`conda env create` takes Python, pip and setuptools from an environment's file; packages of the system (a compiler) have
to be there. What follows is Snakemake's and ours: the scripts that install `envs/lock/*.txt` with their hashes, and jobs
in the environments. Not proven by it: that the channel has these packages, and that they fit together.
"""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import yaml

VERSION = "24.9.0"  # Snakemake asks for one from 24.7.1 on
COMMANDS = {"gxx_linux-64": "g++"}  # of packages that are not Python's
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


def write(folder: Path) -> Path:
    """The stand-in's folder, to go first in PATH."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "activate").write_text(ACTIVATE)
    (programs / "conda").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve()}" "{folder}" "$@"\n'
    )
    (programs / "conda").chmod(0o755)
    return programs


def create(file: Path, prefix: Path) -> None:
    """An environment that holds what `file` pins."""
    pins = dict(pin.split("=") for pin in yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"])
    python = ".".join(pins.pop("python").split(".")[:2])
    if python != (ours := f"{sys.version_info.major}.{sys.version_info.minor}"):
        raise SystemExit(f"{file}: asks for Python {python}, and this is {ours}")
    if missing := [name for name in pins if name in COMMANDS and not shutil.which(COMMANDS[name])]:
        raise SystemExit(f"{file}: asks for {', '.join(missing)}, which this machine has not")
    venv.create(prefix, with_pip=True, symlinks=True)
    packages = [f"{name}=={version}" for name, version in pins.items() if name not in COMMANDS]
    subprocess.run([prefix / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)


def main(folder: Path, *arguments: str) -> None:
    match arguments:
        case ():
            print(write(folder))
        case ("--version",):
            print(f"conda {VERSION}")
        case ("info", "--json"):
            print(json.dumps({"conda_prefix": str(folder), "platform": "linux-64"}))
        case ("config", "--get", "channel_priority", "--json"):
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ("env", "create", *options):
            create(*(Path(options[options.index(name) + 1]) for name in ("--file", "--prefix")))
        case ("clean", *_):
            pass  # keeps no packages
        case _:
            raise SystemExit(f"not in the stand-in for conda: {' '.join(arguments)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
