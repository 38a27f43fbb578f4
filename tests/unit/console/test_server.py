"""The console's process: its link, and a port that somebody has."""

from __future__ import annotations

import socket

import pytest

from broker.config.start_error import StartError
from console.options import ConsoleOptions
from console.server import link, listening_at, run
from tests.tools.ports import free_port


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("fe80::1", "[fe80::1]"),
    ],
)
def test_the_link_can_be_opened_on_this_machine(host: str, shown: str) -> None:
    assert link(host, 8080, "t") == f"http://{shown}:8080/?token=t"


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            StartError, match=rf"127.0.0.1:{port}: another process uses this port: choose"
        ):
            listening_at("127.0.0.1", port)


def test_without_a_broker_it_does_not_start() -> None:
    with pytest.raises(StartError, match="no broker answers"):
        run(ConsoleOptions(f"127.0.0.1:{free_port()}", port=0))
