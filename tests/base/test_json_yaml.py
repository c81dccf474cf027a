"""Strict reading of JSON and YAML."""

import pytest

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import parse, read_json


def test_broken_json_names_the_line(tmp_path):
    (tmp_path / "x.json").write_text('{\n"a": }\n')
    with pytest.raises(InputError, match=r"x.json:2: not JSON"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": "\xff"}', r"x.json:1: invalid UTF-8"),
        (b"[" * 100_000, r"x.json: not JSON \(maximum recursion"),
        (b"1" * 5000, r"x.json: not JSON \(Exceeds the limit"),
    ],
)
def test_files_that_are_no_json(tmp_path, text, message):
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("text", ['{"rate": 1e-06}', "rate: 1e-06", "{rate: 1E-6}", "rate: 1.0e-06", "rate: .1e-5"])
def test_small_numbers_are_numbers(text):
    assert parse(text, "spec") == {"rate": 1e-6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "maximum recursion"),
        ("- " * 100_000, "maximum recursion"),
        ('{"a": NaN}', "Out of range"),
        ("a: .inf", "Out of range"),
        ('{"a": 1e999}', "Out of range"),
        ('{"a": %s}' % ("1" * 5000), "Exceeds the limit"),
        ('{"a": %s}' % ("1" * 500), "11111111111111111111... has more than 64 bits"),
        ("a: 2024-01-01", "date"),
        ("&a [*a]", "Circular|recurs"),
        ("{a: ", "spec:1: not YAML or JSON"),
    ],
)
def test_specs_that_are_no_data(text, message):
    with pytest.raises(InputError, match=message) as error:
        parse(text, "spec")
    assert "\n" not in str(error.value)
