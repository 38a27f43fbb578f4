"""librdkafka's mock cluster by ctypes: it is there, and it is gone."""

from __future__ import annotations

import pytest

from bench.testing.clients import answers
from bench.testing.mock_cluster import MockCluster


def test_it_answers_until_it_is_closed() -> None:
    one, other = MockCluster(), MockCluster()
    address = one.bootstrap_servers
    assert address != other.bootstrap_servers
    answers(address)
    one.close()
    answers(other.bootstrap_servers)
    other.close()
    with pytest.raises(ConnectionRefusedError):
        answers(address)
