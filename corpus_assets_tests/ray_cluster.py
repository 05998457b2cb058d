"""A Ray cluster of our own on this machine, for the tests that need one."""

from collections.abc import Iterator
from typing import Any

import pytest

NODE = {"num_cpus": 2, "object_store_memory": 100 << 20, "include_dashboard": False}


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """A node of two CPUs; tests may add more and take those away."""
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    yield cluster
    cluster.shutdown()
