"""What clients do with a broker, tried on librdkafka's mock cluster, which is there in a moment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from bench.testing import clients
from bench.testing.clients import VALUES, NotInTime
from bench.testing.mock_cluster import MockCluster


@pytest.fixture
def mock() -> Iterator[str]:
    one = MockCluster()
    yield one.bootstrap_servers
    one.close()


def test_records_may_come_in_any_order_but_all_must() -> None:
    clients._check_values(reversed(VALUES))
    with pytest.raises(NotInTime, match="9 of 10"):
        clients._check_values(VALUES[1:])


def test_an_error_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(bytes([0, 0, 0, 6, 0, 0, 0, 1, 0, 35]))

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(NotInTime, match="error 35"):
            clients.answers(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
