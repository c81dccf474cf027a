"""Places of numbers in a list."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.lookup import Lookup

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 30)


@given(st.lists(numbers, unique=True), st.lists(numbers))
@settings(deadline=None)
def test_places_are_those_of_a_dictionary(keys, queries):
    expected = {key: place for place, key in enumerate(keys)}
    queries = [*queries, *keys]
    found = Lookup(np.array(keys, np.uint64))(np.array(queries, np.uint64))
    assert found.tolist() == [expected.get(query, -1) for query in queries]
