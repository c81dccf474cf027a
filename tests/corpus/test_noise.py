"""Every kind of noise is what its label says, and no row is lost."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.corpus import noise as kinds
from bitextbench.corpus.noise import DEFAULT_PROPORTIONS, KINDS, MENU, add_noise, sentences
from bitextbench.corpus.words import words

PAIR = ("de", "en")
NUMBERS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
NAMES = ["Berlin", "Hamburg", "Anna", "Peter", "Leipzig"]


def table(rows: list[tuple[str, str, str, str]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * 4
    return pa.table([pa.array(column, pa.string()) for column in columns], ["src", "tgt", "doc", "label"])


def good(n: int) -> pa.Table:
    """Row i is about the number i, in documents of five sentences: its number tells its right translation."""
    texts = (f"{NUMBERS[i % 7]} {NAMES[i % 5]}, Häuser {i} über {NAMES[i % 3]}" for i in range(n))
    return table(
        [(f"Wir sehen {t}.", f"We look at {t}, too.", f"doc{i // 5}", "parallel") for i, t in enumerate(texts)]
    )


def noise(kind: str, n: int = 60, seed: int = 3) -> list[tuple[int, dict[str, str], dict[str, str]]]:
    """(row, as it was, as it is) where all rows are of one kind that keeps the number of rows."""
    before = good(n)
    after = add_noise(before, {kind: 1.0}, seed, PAIR)
    assert set(after["label"].to_pylist()) == {kind}
    return list(zip(range(n), before.to_pylist(), after.to_pylist(), strict=True))


def test_misaligned_is_from_another_document():
    targets = {row["tgt"]: row["doc"] for row in good(60).to_pylist()}
    for _, was, now in noise("misaligned"):
        assert now["src"] == was["src"]
        assert targets[now["tgt"]] != was["doc"]


def test_misaligned_is_from_the_same_document_where_there_is_no_other():
    targets = good(5)["tgt"].to_pylist()
    for i, _, now in noise("misaligned", 5):
        assert now["tgt"] in targets[:i] + targets[i + 1 :]


def test_a_text_that_is_there_many_times_is_drawn_no_more_often_than_others():
    rows = [(f"Satz {i}", f"line {i}", f"{i}", "parallel") for i in range(40)]
    menus = [("Menü", "menu", f"menu{i}", "parallel") for i in range(400)]
    after = add_noise(table(rows + menus), {"misaligned": 1}, 1, PAIR)["tgt"].to_pylist()
    assert after[:40].count("menu") <= 6  # 1 in 41 is expected


def test_the_only_row_with_another_source_is_found():
    """It is one of 51, so that most rows do not draw it."""
    rows = [("Ja", f"Yes {i}", "", "parallel") for i in range(50)] + [("Nein", "No", "", "parallel")]
    after = add_noise(table(rows), {"misaligned": 1}, 1, PAIR)["tgt"].to_pylist()
    assert after[:50] == ["No"] * 50
    assert after[50].startswith("Yes")


def test_neighbour_is_the_translation_of_the_sentence_beside_it():
    targets = good(60)["tgt"].to_pylist()
    steps = Counter()
    for i, was, now in noise("neighbour"):
        j = targets.index(now["tgt"])
        steps[j - i] += 1
        assert now["src"] == was["src"]
        assert j // 5 == i // 5
    assert set(steps) == {-1, 1}


@pytest.mark.parametrize("seed", range(4))
def test_the_ends_of_a_text_are_no_neighbours(seed: int):
    targets = good(5)["tgt"].to_pylist()
    assert all(abs(targets.index(now["tgt"]) - i) == 1 for i, _, now in noise("neighbour", 5, seed))


def test_neighbour_in_a_document_of_one_sentence_is_misaligned():
    lonely = good(10).set_column(2, "doc", pa.array([f"doc{i}" for i in range(10)]))
    assert set(add_noise(lonely, {"neighbour": 1}, 1, PAIR)["label"].to_pylist()) == {"misaligned"}


def test_copy_has_the_same_text_on_both_sides_taken_from_either():
    sides = {
        now["src"] == was["src"]
        for _, was, now in noise("copy")
        if now["src"] == now["tgt"] in (was["src"], was["tgt"])
    }
    assert sides == {True, False}
    assert all(now["src"] == now["tgt"] for _, _, now in noise("copy"))


def test_wrong_language_has_a_side_in_the_language_of_the_other():
    before = good(60)
    german, english = (set(before[side].to_pylist()) for side in ("src", "tgt"))
    found = Counter()
    for _, was, now in noise("wrong_language"):
        own = now["src"] in german, now["tgt"] in english
        found[own] += 1
        if own == (False, False):
            assert (now["src"], now["tgt"]) == (was["tgt"], was["src"])
        else:
            side, wrong = ("tgt", german - {was["src"]}) if own[0] else ("src", english - {was["tgt"]})
            assert now[side] in wrong
    assert set(found) == {(False, False), (True, False), (False, True)}


def test_partial_keeps_one_side_whole_and_shortens_the_other_or_adds_the_next_sentence():
    before = good(60)
    for i, was, now in noise("partial"):
        (side,) = (side for side in ("src", "tgt") if was[side] != now[side])
        if len(now[side]) > len(was[side]):
            assert now[side] == f"{was[side]} {before[side][i + 1].as_py()}"
        else:
            assert was[side].startswith(now[side]) or was[side].endswith(now[side])
            assert 0 < len(words(now[side], "de")) < len(words(was[side], "de"))


def test_partial_without_a_clause_has_the_first_or_the_second_half_of_the_words():
    rows = [(f"das ist Satz {i} hier", f"this is line {i} now", "", "parallel") for i in range(60)]
    after = add_noise(table(rows), {"partial": 1}, 1, PAIR).to_pylist()
    halves = Counter()
    for (*was, _, _), row in zip(rows, after, strict=True):
        ((old, new),) = ((a, b) for a, b in zip(was, (row["src"], row["tgt"]), strict=True) if a != b)
        halves[old.split()[:2] == new.split(), old.split()[2:] == new.split()] += 1
    assert set(halves) == {(True, False), (False, True)}


def test_truncated_stops_inside_a_word():
    shares = []
    for _, was, now in noise("truncated", 200):
        (side,) = (side for side in ("src", "tgt") if was[side] != now[side])
        kept = now[side]
        assert was[side].startswith(kept)
        assert kept[-1].isalnum()
        assert was[side][len(kept)].isalnum()
        shares.append(len(kept) / len(was[side]))
    assert 0.28 < min(shares) < 0.35  # 0.3, and rounded down to a character
    assert 0.75 < max(shares) <= 0.8


def test_changed_fact_changes_one_word():
    for _, was, now in noise("changed_fact"):
        (side,) = (side for side in ("src", "tgt") if was[side] != now[side])
        changed = [(a, b) for a, b in zip(was[side].split(), now[side].split(), strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][0].isdigit()
        assert changed[0][1].isdigit()
        assert len(changed[0][0]) == len(changed[0][1])


def test_changed_fact_takes_a_name_where_there_is_no_number_and_a_word_where_there_is_neither():
    named = table([(f"es war in {n}.", f"that was in {n}.", "", "parallel") for n in NAMES])
    for row in add_noise(named, {"changed_fact": 1}, 1, PAIR).to_pylist():
        a, b = (row[side].split()[-1] for side in ("src", "tgt"))
        assert a != b
        assert {a[:-1], b[:-1]} <= set(NAMES)
    plain = table([(f"das {w}", f"the {w}s", "", "parallel") for w in ("auto", "fenster", "telefon")])
    after = add_noise(plain, {"changed_fact": 1}, 1, PAIR).to_pylist()
    assert all(row["label"] == "changed_fact" and row["src"][4:] + "s" != row["tgt"][4:] for row in after)


def test_boilerplate_is_not_of_the_corpus():
    texts = {text for row in good(60).to_pylist() for text in (row["src"], row["tgt"])}
    for _, _, now in noise("boilerplate"):
        assert now["src"]
        assert now["tgt"]
        assert not {now["src"], now["tgt"]} & texts
        assert "{" not in now["src"] + now["tgt"]


def test_half_of_boilerplate_is_translated():
    after = add_noise(good(400), {"boilerplate": 1}, 1, ("en", "en")).to_pylist()
    assert 150 < sum(row["src"] == row["tgt"] for row in after) < 250


def test_the_tables_of_boilerplate_are_aligned():
    assert set(sentences()) == set(MENU) == {"en", "de", "fr", "es", "ru", "zh"}
    assert len({len(texts) for texts in sentences().values()}) == 1
    assert len({menu.count("|") for menu in MENU.values()}) == 1
    fields = [
        [sorted(part for part in ("{n}", "{m}", "{year}", "{name}", "{price}") if part in t) for t in texts]
        for texts in sentences().values()
    ]
    assert all(of_language == fields[0] for of_language in fields)


def test_garbled_differs_on_a_side():
    rows = noise("garbled", 200)
    assert all((now["src"], now["tgt"]) != (was["src"], was["tgt"]) for _, was, now in rows)
    text = " ".join(now["src"] + now["tgt"] for _, _, now in rows)
    assert all(trace in text for trace in ("Ã¤", "\ufffd", "&#228;", "&amp;#228;"))
    both = sum(now["src"] != was["src"] and now["tgt"] != was["tgt"] for _, was, now in rows)
    assert 30 < both < 100  # where each garbles both, a third


def test_a_sixth_of_the_characters_is_dropped():
    pool = kinds.Pool([], [], [], PAIR, np.random.default_rng(1))
    left = kinds._dropped(pool, "ab" * 3000)
    assert len(left) == pytest.approx(5000, abs=100)
    assert set(left) == {"a", "b"}


def test_salad_has_as_many_words_in_another_order():
    known = {word for row in good(60).to_pylist() for word in row["tgt"].split()}
    for _, was, now in noise("salad"):
        assert now["src"] == was["src"]
        assert now["tgt"] != was["tgt"]
        assert len(now["tgt"].split()) == len(was["tgt"].split())
        assert set(now["tgt"].split()) <= known


def test_duplicate_follows_its_row():
    before = good(600).to_pylist()
    after = add_noise(good(600), {"duplicate": 1}, 1, PAIR).to_pylist()
    assert after[::2] == before
    assert {row["label"] for row in after[1::2]} == {"duplicate"}
    changes = {
        "none": "{}".format,
        "case": str.upper,
        "start": "- {}".format,
        "end": "{} ...".format,
    }
    found = Counter()
    for a, b in zip(before, after[1::2], strict=True):
        (name,) = (
            name for name, change in changes.items() if all(change(a[side]) == b[side] for side in ("src", "tgt"))
        )
        found[name] += 1
    assert found.keys() == changes.keys()
    assert 270 < found.pop("none") < 330
    assert all(70 < number < 130 for number in found.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_row_always_becomes_something_with_a_true_label(kind: str):
    for seed in range(5):
        after = add_noise(table([("Ja", "Yes", "", "parallel")]), {kind: 1}, seed, PAIR)["label"].to_pylist()
        assert set(after) <= {kind, "boilerplate", "parallel"}


def test_chinese_is_cut_by_characters():
    rows = [(f"我们在城市里看到很多很大的房子{i}号。", f"We see {i} houses.", "", "parallel") for i in range(40)]
    after = add_noise(table(rows), {"salad": 0.5, "partial": 0.5}, 1, ("zh", "en")).to_pylist()
    shorter = [row["src"] for row in after if row["label"] == "partial" and not row["src"].endswith("号。")]
    assert shorter
    assert not any(" " in row["src"] for row in after)


def test_proportions():
    labels = Counter(add_noise(good(20_000), DEFAULT_PROPORTIONS, 1, PAIR)["label"].to_pylist())
    for kind in set(KINDS) - {"misaligned"}:
        assert labels[kind] / 20_000 == pytest.approx(DEFAULT_PROPORTIONS[kind], abs=0.01), kind
    assert labels["parallel"] / 20_000 == pytest.approx(0.25, abs=0.01)  # 23%, and the rows that have a duplicate
    assert 1 - sum(DEFAULT_PROPORTIONS.values()) == pytest.approx(0.23)


def test_rows_with_another_label_stay():
    rows = good(20).to_pylist()
    mixed = table([(r["src"], r["tgt"], r["doc"], ["parallel", "machine", ""][i % 3]) for i, r in enumerate(rows)])
    after = add_noise(mixed, {"copy": 1}, 1, PAIR)
    assert [row for row in after.to_pylist() if row["label"] != "copy"] == [
        row for row in mixed.to_pylist() if row["label"] != "parallel"
    ]


def test_proportions_above_1():
    with pytest.raises(InputError, match=r"add up to 1\.4"):
        add_noise(good(3), {"copy": 0.7, "salad": 0.7}, 1, PAIR)


def test_one_sided_rows_are_refused():
    with pytest.raises(InputError, match="noise needs both sides"):
        add_noise(table([("Ja", None, "", "parallel")]), {"copy": 1}, 1, PAIR)  # type: ignore[list-item]


text = st.text("abcÄß 12,.,中文", min_size=1, max_size=12).filter(str.strip)
rows = st.lists(
    st.tuples(text, text, st.sampled_from(["", "x", "y"]), st.sampled_from(["parallel", "other"])), max_size=12
)
shares = st.lists(st.floats(0, 1), min_size=len(KINDS) + 1, max_size=len(KINDS) + 1).filter(sum)


@settings(max_examples=80, deadline=None)
@given(rows, shares, st.integers(0, 9), st.sampled_from([("de", "en"), ("zh", "ru"), ("xx", "zh")]))
def test_rows_are_all_there_however_arrow_chunks_them(rows, shares, seed, languages):
    proportions = {kind: share / sum(shares) for kind, share in zip(KINDS, shares, strict=False)}
    whole = table(rows)
    after = add_noise(whole, proportions, seed, languages)
    pieces = pa.concat_tables([whole.slice(i, 1) for i in range(len(whole))] or [whole])
    assert add_noise(pieces, dict(reversed(proportions.items())), seed, languages).equals(after)
    labels = after["label"].to_pylist()
    assert len(after) - labels.count("duplicate") == len(rows)
    assert labels.count("other") == [row[3] for row in rows].count("other")
    for row in after.to_pylist():
        assert row["src"].strip()
        assert row["tgt"].strip()
        if row["label"] == "copy":
            assert row["src"] == row["tgt"]
        if row["label"] == "parallel":
            assert (row["src"], row["tgt"], row["doc"], "parallel") in rows
