"""Records: what is written is read back, byte for byte; whatever else is refused, with its line."""

import csv
import io
from dataclasses import astuple, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.formats import records

TEXT = st.text(st.characters(exclude_categories=["C"], include_characters=',"\n'), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@dataclass(frozen=True)
class Line:
    name: str
    count: int | None
    value: float
    rounded: Annotated[float, ".2f"] | None
    printed: Decimal


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.builds(
            Line,
            TEXT,
            st.none() | st.integers(),
            NUMBERS,
            st.none() | st.sampled_from([1.25, -0.5]),
            st.just(Decimal("3.0")),
        ),
        max_size=4,
    )
)
def test_lines_are_written_as_csv_writes_them_and_read_back(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("records") / "lines.csv"
    records.write(path, Line, lines)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "count", "value", "rounded", "printed"])
    writer.writerows((*astuple(one)[:3], "" if one.rounded is None else f"{one.rounded:.2f}", "3.0") for one in lines)
    assert path.read_text(encoding="utf-8") == out.getvalue()
    assert records.read(path, Line, "lines") == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,value,count,rounded,printed\n", r":1: not lines of this version \(columns: in another order\)"),
        ("name,count,value,rounded\n", r":1: .*\(columns: no printed\); make the file again"),
        ("name,count,value,rounded,printed\na,1,2,,3\nb,1,2,\n", r":3: .*a field is missing"),
        ("name,count,value,rounded,printed\na,1,2,,3,4\n", "Expected 5 fields in line 2, saw 6"),
        ("name,count,value,rounded,printed\na,1,2,,3\nb,x,2,,3\n", r":3: .*'x'"),
        ("name,count,value,rounded,printed\na,1,inf,,3\n", r":2: .*inf is not a number"),
        ("name,count,value,rounded,printed\na,1,,,3\n", r":2: not lines \(could not convert"),
        ("name,count,value,rounded,printed\na,1,2,,nan\n", r":2: .*nan is not a number"),
        ("", "No columns"),
        ("id,name,what\n1,a,b\n", r":1: not lines: it begins with id, name, what; name another file"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    path = Path(tmp_path / "lines.csv")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"lines\.csv.*{message}"):
        records.read(path, Line, "lines")
