"""The pre-filter's rules against plain Python, and language identification against its own libraries."""

import unicodedata
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.base.languages import spaced
from bitextbench.corpus import byte_lines, language_id, language_model, naive_bayes
from bitextbench.corpus import prefilter as rules_of
from bitextbench.corpus.byte_lines import BLOCK, Lines, filled
from bitextbench.corpus.language_id import identify
from bitextbench.corpus.prefilter import RULES, WEB, check_rules, prefilter
from bitextbench.corpus.words import ENGLISH, UNKNOWN, counts_words_as_english, usual_characters, words
from bitextbench.formats.repair import is_empty

PAIR = ("de", "en")
SENTENCES = {
    "de": "Die Häuser in dieser Straße sind älter als die Kirche.",
    "en": "The houses in this street are older than the church.",
    "fr": "Les maisons de cette rue sont plus vieilles que l'église.",
    "es": "Las casas de esta calle son más antiguas que la iglesia.",
    "ru": "Дома на этой улице старше, чем церковь.",
    "zh": "这条街上的房子比教堂还要古老。",
}


def table(pairs: list[tuple[str | None, str | None]]) -> pa.Table:
    src, tgt = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"src": pa.array(src, pa.string()), "tgt": pa.array(tgt, pa.string())})


def test_filled_has_more_than_space_and_invisible_characters():
    characters = [chr(point) for point in range(0x20000) if not 0xD800 <= point < 0xE000]
    lines = [text for char in characters for text in (char, f" {char}", f"{char}\u3000", f"{char}x")] + ["", None]
    expected = [None if line is None else not is_empty(line) for line in lines]
    whole = pa.chunked_array([["dropped", *lines]])
    for column in (whole.slice(1), pa.array(lines), pa.chunked_array([lines[:9], lines[9:]])):
        assert filled(column).to_pylist() == expected
    assert filled(pa.chunked_array([], pa.string())).to_pylist() == filled(pa.nulls(0, pa.string())).to_pylist() == []
    assert filled(pa.nulls(2, pa.string())).to_pylist() == [None, None]


def share_of_letters(text: str) -> float:
    visible = [char for char in text if not char.isspace()]
    return sum(unicodedata.category(char)[0] in "LM" for char in visible) / len(visible) if visible else 1.0


def run(tokens: list[str]) -> int:
    return max(
        (
            sum(1 for _ in range(i, j))
            for i in range(len(tokens))
            for j in range(i + 1, len(tokens) + 1)
            if len({*tokens[i:j]}) == 1
        ),
        default=0,
    )


def oracle(src: str | None, tgt: str | None, rules: dict, languages: tuple[str, str]) -> list[str]:
    """The rules that drop the pair."""
    texts = [(text, words(text, code)) for text, code in zip((src, tgt), languages, strict=True) if text is not None]
    (a, b), two = [words(text or "", code) for text, code in zip((src, tgt), languages, strict=True)], len(texts) == 2
    usual = [usual_characters(code) for code in languages]
    signs = [len("".join((text or "").split())) / share for text, share in zip((src, tgt), usual, strict=True)]
    in_words = [
        len(tokens) if spaced(code) else sign / ENGLISH
        for tokens, sign, code in zip((a, b), signs, languages, strict=True)
    ]
    lengths = [length for length, text in zip(in_words, (src, tgt), strict=True) if text is not None]
    compared = in_words if all(map(counts_words_as_english, languages)) else signs
    keeps = {
        "max_chars": lambda v: all(len(text) <= v for text, _ in texts),
        "min_tokens": lambda v: all(length >= v for length in lengths),
        "max_tokens": lambda v: all(length <= v for length in lengths),
        "min_longer": lambda v: not texts or max(lengths) >= v,
        "max_ratio": lambda v: not two or max(compared) <= v * min(compared),
        "different": lambda v: not (two and v) or "".join(src.lower().split()) != "".join(tgt.lower().split()),
        "letters": lambda v: all(share_of_letters(text) >= v for text, _ in texts),
        "max_repeats": lambda v: all(run(tokens) <= v for _, tokens in texts),
        "max_overlap": lambda v: not two or len({*a} & {*b}) / max(1, min(len({*a}), len({*b}))) < v,
    }
    return [rule for rule in RULES if rule in rules and not keeps[rule](rules[rule])]


line = st.none() | st.text("ab Ä\u0301ß1.- \t\x00\x1b\x0b\x1f\x85\u00a0\u3000\u2028中文😀", max_size=12)
rules = st.fixed_dictionaries(
    {},
    optional={
        "max_chars": st.integers(0, 12),
        "min_tokens": st.integers(0, 4),
        "max_tokens": st.integers(0, 4),
        "min_longer": st.integers(0, 4),
        "max_ratio": st.sampled_from([1, 1.5, 2.0]),
        "different": st.booleans(),
        "letters": st.sampled_from([0.0, 0.5, 1.0]),
        "max_repeats": st.integers(1, 3),
        "max_overlap": st.sampled_from([0.0, 0.5, 1.0]),
    },
)


@settings(max_examples=200, deadline=None)
@example([("-", ".\0")], {"max_chars": 2, "max_overlap": 0.5}, PAIR)  # 0x2D ^ 1 == 0x2E ^ 2
@given(
    st.lists(st.tuples(line, line), max_size=8),
    rules,
    st.sampled_from([PAIR, ("zh", "en"), ("de", "ja"), ("ko", "en"), ("zh", "ja")]),
)
def test_rules_are_those_of_the_oracle(pairs, rules, languages):
    reasons = [oracle(*pair, rules, languages) for pair in pairs]
    passed, first, alone, _ = prefilter(table(pairs), rules, languages)
    assert passed.tolist() == [not names for names in reasons]
    assert first == Counter(names[0] for names in reasons if names)
    assert alone == Counter(name for names in reasons for name in names)


WORD = st.text("aäß1中.", min_size=1, max_size=40) | st.sampled_from(
    ["Donaudampfschiff", "Donaudampfschiff1", "x" * 24]
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.lists(WORD, max_size=6).map(" ".join)] * 2), max_size=6))
def test_long_tokens_are_told_apart(pairs):
    everything = {"max_repeats": 1, "max_overlap": 0.5}
    passed, *_ = prefilter(table(pairs), everything, PAIR)
    assert passed.tolist() == [not oracle(*pair, everything, PAIR) for pair in pairs]


def test_characters_are_space_and_letters_as_python_has_them():
    points = [*range(0x3100), *range(0x3100, 0x110000, 61)]
    characters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
    within = Lines(pa.array([f"a{char}b" for char in characters]), "en")
    assert within.lengths.tolist() == [1 + char.isspace() for char in characters]
    assert within.visible.tolist() == [3 - char.isspace() for char in characters]
    assert within.letters.tolist() == [2 + (unicodedata.category(char)[0] in "LM") for char in characters]


def places(lines: Lines) -> Iterator[tuple[int, int]]:
    """Where each token begins and ends, in bytes."""
    starts, stops = (
        np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")) for bits in (lines.starts, lines.stops)
    )
    yield from ((start, stops[stops > start][0]) for start in starts[starts < lines.bounds[-1]])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("a \u3000ß中", max_size=70), max_size=5), st.sampled_from(["en", "zh"]))
def test_tokens_stand_where_python_finds_them(texts, code):
    lines, tokens = Lines(pa.array(texts, pa.string()), code), [words(text, code) for text in texts]
    found = [lines.data[start:end].tobytes().decode() for start, end in places(lines)]
    assert found == [token for line in tokens for token in line]
    alone = [Lines(pa.array([token]), code).hashes.tolist() for line in tokens for token in line]
    assert [[token] for token in lines.hashes.tolist()] == alone
    assert len({*lines.hashes.tolist()}) == len({*found})
    assert lines.lengths.tolist() == [len(line) for line in tokens]
    assert lines.runs.tolist() == [run(line) for line in tokens]


def test_a_row_does_not_depend_on_its_block():
    pairs = [(f"Satz {i} von {i % 5}", f"a line {i % 7} of {i % 3}") for i in range(BLOCK + 100)]
    everything = {"max_overlap": 0.3, "letters": 0.6}
    passed, first, *_ = prefilter(table(pairs), everything, PAIR)
    assert passed.tolist() == [not oracle(*pair, everything, PAIR) for pair in pairs]
    assert 0 < first["max_overlap"] < len(pairs)


@pytest.mark.parametrize(
    ("rule", "value", "kept", "dropped"),
    [
        ("max_chars", 5, ("abcde", "x"), ("x", "abcdef")),
        ("min_tokens", 3, ("a b c", "x y z"), ("a b c", "x y")),
        ("max_tokens", 2, ("a b", "x y"), ("a b", "x y z")),
        ("max_ratio", 2.0, ("a b", "x y z v"), ("a b", "x y z v w")),
        ("different", True, ("Nein", "No"), ("Radio", "RADIO ")),
        ("letters", 0.5, ("ab 12", "ab"), ("ab", "+49 (0) 12 ab")),
        ("max_repeats", 2, ("ja ja nein ja", "yes"), ("ja", "ho ho ho")),
        ("max_repeats", 1, ("a1b a2b a3b", "a4b"), ("a1b", "a2b a3b a3b")),  # one first byte, last byte and length
        ("max_overlap", 0.5, ("a b c d e", "a b x y z"), ("a b c d e", "a b x y")),  # 2/5 stays, 2/4 goes
        ("max_overlap", 0.5, ("a1b a2b a3b", "a4b a5b a6b"), ("a1b a2b a3b", "a4b a2b a1b")),
        ("max_overlap", 0.5, ("a a a a b c", "a x y"), ("a a a a b", "a x y")),  # distinct tokens: 1/3, 1/2
        ("language", "py3langid", (SENTENCES["de"], SENTENCES["en"]), (SENTENCES["de"], SENTENCES["fr"])),
        ("language", "py3langid", ("12.30", "12:30"), (SENTENCES["en"], SENTENCES["de"])),
    ],
)
def test_a_rule_at_its_limit(rule: str, value: object, kept: tuple[str, str], dropped: tuple[str, str]):
    passed, first, alone, _ = prefilter(table([kept, dropped]), {rule: value}, PAIR)
    assert passed.tolist() == [True, False]
    assert first == alone == {rule: 1}


def test_monolingual_rows_meet_one_sided_rules_only():
    rows = table([("a b c", None), ("a", None), (None, "x y z")])
    passed, first, *_ = prefilter(
        rows, {"min_tokens": 2, "max_ratio": 1.0, "max_overlap": 0.0, "different": True}, PAIR
    )
    assert passed.tolist() == [True, False, True]
    assert first == {"min_tokens": 1}
    rows = table([(SENTENCES["de"], None), (SENTENCES["ru"], None)])
    assert prefilter(rows, {"language": "py3langid"}, PAIR).passed.tolist() == [True, False]


@pytest.mark.parametrize("code", ["de", "de-AT", "deu"])
def test_a_language_is_looked_for_by_the_code_of_the_model(code):
    rows = table([(SENTENCES["de"], SENTENCES["en"]), (SENTENCES["fr"], SENTENCES["en"])])
    assert prefilter(rows, {"language": "py3langid"}, (code, "en")).passed.tolist() == [True, False]


@pytest.mark.parametrize(
    ("model", "pair", "candidates"),
    [
        ("py3langid", ("fi", "en"), (WEB & {"de", "en", "zh", "fr"}) | {"fi"}),
        ("py3langid", ("zh", "en"), {"de", "en", "fr", "zh"}),
        ("lid.bin", ("zh", "en"), {"de", "en", "fi", "fr", "zh", "sw"}),  # all that it knows, but for other Chinese
        ("lid.bin", ("de", "en"), {"de", "en", "fi", "fr", "zh", "yue", "wuu", "sw"}),
    ],
)
def test_languages_among_which_a_model_chooses(monkeypatch, model, pair, candidates):
    given = []
    monkeypatch.setattr(rules_of, "known", lambda model: {"de", "en", "fi", "fr", "zh", "yue", "wuu", "sw"})
    monkeypatch.setattr(rules_of, "identify", lambda lines, codes, model: given.append(codes) or [UNKNOWN] * len(lines))
    assert prefilter(table([("a", "b")]), {"language": model}, pair).passed.tolist() == [True]
    assert given == [sorted(candidates)] * 2


def test_a_language_that_the_model_does_not_know():
    check_rules({"language": "py3langid"})
    check_rules({"language": "py3langid"}, ("de-AT", "en"))
    check_rules({"max_tokens": 3}, ("xx", "en"))
    for check in (
        lambda: check_rules({"language": "py3langid"}, ("xx", "en")),
        lambda: prefilter(table([("a", "b")]), {"language": "py3langid"}, ("en", "xx")),
    ):
        with pytest.raises(InputError, match=r"does not know the language xx; .* leave out the rule `language`"):
            check()


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"de": 5}, "de"),
        ({"de": 4}, None),
        ({"de": 5, "en": 4}, "de"),
        ({"en": 5, "de": 5}, None),
        ({"en": 3, "de": 6, "fr": 2}, "de"),
        ({}, None),
    ],
)
def test_the_language_of_most_lines_is_that_of_more_than_half_and_of_five(monkeypatch, counts, found):
    class Known:
        def classify(self, line: str) -> tuple[str, float]:
            return line, 0.0

    monkeypatch.setattr(language_id, "_py3langid", Known)
    assert language_id.most_of([code for code, number in counts.items() for _ in range(number)]) == found


def test_no_rows_and_no_rules():
    everything = {"max_tokens": 5, "max_ratio": 2.0, "letters": 0.5, "max_overlap": 0.5, "max_repeats": 2, "language": "py3langid"}  # fmt: skip
    assert len(prefilter(table([]), everything, PAIR).passed) == 0
    assert prefilter(table([("", "")]), everything, PAIR).passed.tolist() == [True]
    assert prefilter(table([("", "")]), {}, PAIR).passed.tolist() == [True]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"max_token": 3}, "no filter rule 'max_token'; did you mean max_tokens"),
        ({"max_tokens": "80"}, "max_tokens cannot be '80'; give a number"),
        ({"different": 1}, "different cannot be 1; give true or false"),
        ({"max_ratio": True}, "max_ratio cannot be True; give a number"),
        ({"max_ratio": 0.5}, "max_ratio cannot be 0.5; give 1 or more"),
        ({"letters": 50}, "letters cannot be 50; give a number from 0 to 1"),
        ({"max_overlap": 50}, "max_overlap cannot be 50; give a number from 0 to 1"),
        ({"max_tokens": -1}, "max_tokens cannot be -1; give 0 or more"),
        ({"language": 3}, "language cannot be 3; give py3langid, or the path of a fastText model"),
    ],
)
def test_bad_rules(rules: dict, message: str):
    with pytest.raises(InputError, match=message):
        prefilter(table([("a", "b")]), rules, PAIR)


def test_a_model_of_languages_that_is_missing():
    pytest.importorskip("fasttext")
    with pytest.raises(InputError, match=r"lid\.176\.bin: no such file"):
        prefilter(table([("a", "b")]), {"language": "no/such/lid.176.bin"}, PAIR)


def test_identify_knows_the_languages(monkeypatch):
    assert identify([*SENTENCES.values()], [*SENTENCES], "py3langid") == [*SENTENCES]
    assert identify(["", "123", " "], ["de", "en"], "py3langid") == [UNKNOWN] * 3
    assert identify([], ["de", "en"], "py3langid") == []
    monkeypatch.setattr(language_id, "BLOCK", 4)
    assert identify([*SENTENCES.values(), ""] * 2, [*SENTENCES], "py3langid") == [*SENTENCES, UNKNOWN] * 2
    with pytest.raises(InputError, match="does not know the language xx"):
        identify(["a"], ["xx"], "py3langid")


@settings(max_examples=60, deadline=None)
@example([text[:n] for n in (0, 9, 40, 3) for text in SENTENCES.values()] + ["Straße " * n for n in range(60, 80)])
@example([unicodedata.normalize("NFD", word) for text in SENTENCES.values() for word in text.split()])
@given(
    st.lists(
        st.sampled_from([*SENTENCES.values()]).flatmap(lambda s: st.sampled_from([s, s.upper(), s[:9], s[3:5], s * 2]))
        | st.text(max_size=9)
    )
)
def test_identify_says_what_py3langid_says(py3langid_classify, lines):
    assert identify(lines, [*SENTENCES, "sr"], "py3langid") == [*map(py3langid_classify, lines)]


@pytest.fixture(scope="module")
def py3langid_classify():
    from py3langid.langid import MODEL_FILE, RAW_FLOOR, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    model.set_languages([*SENTENCES, "sr"])

    def classify(line: str) -> str:
        code, score = model.classify(line)
        return code if score != np.float32(RAW_FLOOR) else UNKNOWN  # the score of a line without features

    return classify


@pytest.fixture(scope="module")
def lid(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("fasttext")
    path = tmp_path_factory.mktemp("lid") / "lid.bin"
    language_model.fit({code: [text] * 30 for code, text in SENTENCES.items()}, path, epochs=30)
    return str(path)


def test_identify_with_a_fasttext_model(lid):
    assert identify([*SENTENCES.values()], [*SENTENCES], lid) == [*SENTENCES]
    assert set(identify([*SENTENCES.values()], ["de", "en"], lid)) <= {"de", "en"}
    assert identify([], ["de", "en"], lid) == []
    with pytest.raises(InputError, match=r"lid.bin: the model does not know the language pl"):
        identify(["a"], ["pl"], lid)


def test_a_model_of_few_languages_filters(lid):
    rows = table([(SENTENCES["de"], SENTENCES["en"]), (SENTENCES["ru"], SENTENCES["en"])])
    assert prefilter(rows, {"language": lid}, PAIR).passed.tolist() == [True, False]


def test_fasttext_chooses_among_all_languages_of_its_model(tmp_path):
    """artetxe2019 section 4.3 drops lines for which the model "predicts a different language", whichever that is."""
    pytest.importorskip("fasttext")
    latin = "Gallia est omnis divisa in partes tres quarum unam incolunt Belgae aliam Aquitani"
    texts = {"de": SENTENCES["de"], "en": SENTENCES["en"], "la": latin}
    language_model.fit({code: [text] * 30 for code, text in texts.items()}, tmp_path / "lid.bin", epochs=30)
    rows = table([(texts["de"], texts["en"]), (latin, texts["en"]), (texts["de"], latin)])
    assert prefilter(rows, {"language": str(tmp_path / "lid.bin")}, PAIR).passed.tolist() == [True, False, False]


@pytest.mark.parametrize("texts", [{}, {"de": ["eins"]}, {"de": ["eins"], "en": [" "]}])
def test_a_language_model_needs_text_of_two_languages(tmp_path, texts):
    pytest.importorskip("fasttext")
    with pytest.raises(InputError, match="give text of two or more"):
        language_model.fit(texts, tmp_path / "lid.bin")


def test_loops_are_compiled_once_whoever_owns_the_memory():
    text = b"Ein Haus.Zwei B\xc3\xa4ume."
    lent = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 9, len(text)], np.int32)), pa.py_buffer(text))
    owned = pa.concat_arrays([lent, lent])  # Arrow lets the one be written to, the other not
    for lines in (lent, owned):
        table = pa.table({"src": lines, "tgt": lines})
        prefilter(table, {"max_tokens": 5, "letters": 0.5, "max_overlap": 0.9, "language": "py3langid"}, ("de", "en"))
    for loop in (byte_lines._space, byte_lines._begins, byte_lines._letters, byte_lines._hashes, naive_bayes._doubtful):
        assert len(loop.signatures) == 1, loop
