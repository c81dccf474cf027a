from collections.abc import Iterator

import pytest
from slurm_cluster import one_node_slurm, why_not


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which sbatch finds a real one-node Slurm."""
    if reason := why_not():
        pytest.skip(reason)
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as env:
        yield env
