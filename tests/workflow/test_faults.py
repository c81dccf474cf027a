"""tests/faults.py: what it draws. (It runs for an hour.)"""

import random
from collections import Counter

import faults


def test_each_kind_comes_as_often_as_the_others_at_moments_that_the_seed_draws():
    drawn = faults.plan(random.Random(1), 3 * len(faults.KINDS))
    assert Counter(kind for _, kind in drawn) == dict.fromkeys(faults.KINDS, 3)
    moments = [moment for moment, _ in drawn]
    assert moments == sorted({*moments})
    assert 0 < moments[0] < moments[-1] < 1
    assert drawn == faults.plan(random.Random(1), 3 * len(faults.KINDS)) != faults.plan(random.Random(2), len(drawn))
