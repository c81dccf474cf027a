import os
from collections.abc import Iterator

import pytest
from slurm_cluster import one_node_slurm, why_not

# Several tests share a core: threads that wait must not spin. Before torch is loaded, and for all that tests start.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which sbatch finds a real one-node Slurm."""
    if reason := why_not():
        pytest.skip(reason)
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as env:
        yield env


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: two workers then end at about the same time. Slurm, which mostly waits, before all."""
    slow, slurm = ({item.path for item in items if item.get_closest_marker(name)} for name in ("slow", "slurm"))
    items.sort(key=lambda item: (item.path not in slurm, item.path not in slow))
