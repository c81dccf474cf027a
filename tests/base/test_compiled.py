"""Machine code where there is no place to keep it."""

from numba.core import caching

from bitextbench.base.compiled import compiled


def test_code_is_compiled_without_a_cache(monkeypatch):
    monkeypatch.setattr(caching.FunctionCache._impl_class, "_locator_classes", [])

    @compiled
    def twice(x):
        return 2 * x

    assert twice(3) == 6
