"""Progress in lines and in bytes, in a log and on a terminal."""

import gzip
import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from bitextbench.base.lines import read_arrays, read_lines
from bitextbench.base.progress import count_of, progress
from bitextbench.corpus.build import build

LINES = [f"line {number} of the text" for number in range(200_000)]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "crawl.de"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_one_of_a_kind_is_singular(capsys):
    assert [count_of(n, "line") for n in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
    assert [count_of(n, "pair is", "pairs are") for n in (1, 2)] == ["1 pair is", "2 pairs are"]
    assert [*progress("a", "read", unit="pairs")] == ["a"]
    assert re.fullmatch(r"read: 1 pair, [\d,]+ pairs/s, done\n", capsys.readouterr().err)


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_tells_bytes_where_the_text_is_a_file(text, capsys, packed):
    if packed:
        path = text.with_name("crawl.de.gz")
        path.write_bytes(gzip.compress(text.read_bytes(), 1))
        text = path
    size = text.stat().st_size / 1e6
    assert sum(map(len, progress(read_arrays(text), "read", every=0.0, size=len, by_bytes=True))) == len(LINES)
    first, *_, last = capsys.readouterr().err.splitlines()
    share = re.fullmatch(r"read: [\d,]+ lines, [\d,]+ lines/s, [\d.]+ of [\d.]+ MB \((\d+)%\)(, [\d,]+ s left)?", first)
    assert 0 < int(share[1]) < 100 or packed  # some packed bytes are read ahead
    assert re.fullmatch(rf"read: 200,000 lines, [\d,]+ lines/s, {size:.1f} of {size:.1f} MB \(100%\), done", last)


def test_a_log_tells_lines_where_there_is_no_file(capsys):
    assert list(progress("ab", "count", by_bytes=True)) == ["a", "b"]
    assert re.fullmatch(r"count: 2 lines, [\d,]+ lines/s, done\n", capsys.readouterr().err)


@pytest.mark.parametrize("total", [100, 101])
def test_the_time_that_is_left_is_estimated_from_one_percent_on(capsys, total):
    next(steps := progress(range(total), "train", total=total, every=0.0))
    next(steps)
    assert ("s left" in capsys.readouterr().err) == (total == 100)


def test_other_files_do_not_count(text, capsys):
    for _ in progress(range(2), "count", by_bytes=True):
        next(iter(read_lines(text)))
    assert "MB" not in capsys.readouterr().err


def test_a_terminal_has_a_bar_of_bytes(text, tmp_path):
    program = (
        "import sys; from bitextbench.base.lines import read_arrays; from bitextbench.base.progress import progress\n"
        "for _ in progress(read_arrays(sys.argv[1]), 'read', size=len, by_bytes=True): pass"
    )
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    done = subprocess.run([sys.executable, "-c", program, text], stderr=theirs, check=False)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    assert done.returncode == 0
    assert re.search(r"read: 100%.*B/s, 200,000 lines", shown), shown


def test_a_corpus_is_read_by_bytes(text, tmp_path, capsys):
    part = {"files": {"src": str(text), "tgt": str(text)}}
    build("pool", {"parts": [part]}, ("de", "en"), tmp_path, {}, tmp_path / "pool", seed=1)
    size = 2 * text.stat().st_size / 1e6
    assert f"{size:.1f} of {size:.1f} MB (100%), done" in capsys.readouterr().err
