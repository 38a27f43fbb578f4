"""Ports of tests: a broker listens on one and comes back to it, and nobody else is given it."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

import pytest

import tests.tools.ports
from command.cluster_layout import PORTS
from ottla.testing.broker_process import BrokerProcess
from ottla.testing.ports import HeldPort
from protocol.messages.api_versions import ApiVersionsRequest
from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import ApacheKafka, listens
from tests.tools.java_tools import FAST_START, PROJECT_DIR
from tests.tools.ports import Ports, free_base, free_port, give_back

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="two sockets cannot be bound to one port"
)

DRAWS = 500
OF_ANOTHER_PROCESS = (
    "import sys; from ottla.testing.ports import HeldPort; HeldPort(int(sys.argv[1]), alone=True)"
)


@pytest.fixture
def ports() -> Iterator[Ports]:
    with closing(Ports()) as taken:
        yield taken


def assert_refused(port: int) -> None:
    """To another test of this process, and of another one."""
    with pytest.raises(OSError) as refused:
        HeldPort(port, alone=True)
    assert refused.value.errno == errno.EADDRINUSE
    command = [sys.executable, "-P", "-c", OF_ANOTHER_PROCESS, str(port)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(PROJECT_DIR)}, capture_output=True, text=True
    )
    assert done.returncode != 0 and "Address already in use" in done.stderr


def test_a_broker_listens_on_it_and_comes_back_to_it(ports: Ports) -> None:
    port = ports.take()
    assert_refused(port)
    with BrokerProcess(port=port) as broker:
        for _ in range(2):
            with WireClient(port) as client:
                assert client.call(ApiVersionsRequest(), 0).error_code == 0
                assert_refused(port)
                broker.kill()  # with a connection that is open
            assert_refused(port)
            assert not listens(port)
            broker.start()


@pytest.mark.java
def test_apache_kafka_listens_on_one_too(ports: Ports) -> None:
    port = ports.take()
    with ApacheKafka(port=port, jvm_options=FAST_START, heap="512m") as kafka:
        with WireClient(port) as client:
            assert client.call(ApiVersionsRequest(), 0).error_code == 0
        assert_refused(kafka.controller_port)
        kafka.kill()
        assert_refused(port)
        kafka.start()
        with WireClient(port) as client:
            assert client.call(ApiVersionsRequest(), 0).error_code == 0


def test_no_number_is_drawn_twice(ports: Ports) -> None:
    drawn = [ports.take() for _ in range(DRAWS)]
    assert len({*drawn}) == DRAWS
    with closing(Ports()) as others:
        row = others.take(PORTS)
        assert not {*range(row, row + PORTS)} & {*drawn}


class Recorded(HeldPort):
    """A held port that is in `now` until it is released; the number `TAKEN` is refused."""

    TAKEN: ClassVar[int] = 0
    now: ClassVar[set[int]] = set()

    def __init__(self, number: int = 0, *, alone: bool = False) -> None:
        if number == self.TAKEN:
            raise OSError(errno.EADDRINUSE, "in use")
        super().__init__(number, alone=alone)
        self.now.add(number)

    def release(self) -> None:
        super().release()
        self.now.discard(self.number)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    """The class that ports are held by in this test; nothing is held at first."""
    give_back()
    monkeypatch.setattr(tests.tools.ports, "HeldPort", Recorded)
    monkeypatch.setattr(Recorded, "now", set())
    return Recorded


def test_a_row_with_a_number_that_is_taken_holds_none_of_the_others(
    ports: Ports, recorded: type[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = iter((20_000, 20_010))
    monkeypatch.setattr(tests.tools.ports._random, "randrange", lambda *_: next(rows))
    monkeypatch.setattr(HeldPort, "_reserve", lambda *_: None)
    monkeypatch.setattr(recorded, "TAKEN", 20_002)
    assert ports.take(4) == 20_010
    assert recorded.now == {20_010, 20_011, 20_012, 20_013}
    ports.close()
    assert recorded.now == set()


def test_what_a_module_took_is_given_back(recorded: type[Recorded]) -> None:
    port, base = free_port(), free_base()
    assert recorded.now == {port, *range(base, base + PORTS)}
    assert_refused(base + PORTS - 1)
    give_back()
    assert recorded.now == set()
