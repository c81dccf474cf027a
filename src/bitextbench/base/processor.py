"""What Linux says of this machine's processor."""

import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def info() -> str:
    """/proc/cpuinfo; empty on systems without."""
    try:
        return CPUINFO.read_text(encoding="utf-8")
    except OSError:
        return ""


def model() -> str | None:
    """Its name; None where it is not known."""
    found = re.search(r"^model name\s*:\s*(.+)$", info(), re.MULTILINE)
    return found[1] if found else None
