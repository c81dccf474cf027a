"""Hostile calls (tests/hostile.py): a sample here, all in the slow tests."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "hostile.py"


@pytest.mark.parametrize("every", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_calls_end_in_one_line(every):
    done = subprocess.run([sys.executable, SCRIPT, str(every)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
