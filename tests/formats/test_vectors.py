"""Equal vectors, each once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.formats import vectors
from bitextbench.formats.vectors import Embeddings, distinct


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([-0.0, 0.0, 0.5, 1.0])] * 2), max_size=40), st.integers(1, 30))
def test_each_vector_once_by_its_first_copy(rows, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "BLOCK", block)
        once = distinct(Embeddings(np.array(rows, np.float32).reshape(-1, 2)))
    firsts = [*dict.fromkeys(rows)]  # -0.0 equals 0.0
    assert once.first.tolist() == [rows.index(row) for row in firsts]
    assert once.which.tolist() == [firsts.index(row) for row in rows]
    assert once.vectors.block(0, len(firsts)).tolist() == [[*row] for row in firsts]
