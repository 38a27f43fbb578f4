"""One broker for the tests of hostile input, held to have survived every one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing.broker_process import BrokerProcess
from tests.chaos.witness import Witness

PARTIAL_FRAME_TIMEOUT_MS = 2_000


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    """A broker with a short deadline for incomplete frames."""
    properties = {"ottla.partial.frame.timeout.ms": str(PARTIAL_FRAME_TIMEOUT_MS)}
    with BrokerProcess(properties) as process:
        yield process
        assert process.stop() == 0, process.output()


@pytest.fixture(scope="module")
def witness(broker: BrokerProcess) -> Iterator[Witness]:
    """A client that lives through all the tests of a module."""
    with Witness(broker.port) as client:
        yield client


@pytest.fixture
def unharmed(broker: BrokerProcess, witness: Witness) -> Iterator[BrokerProcess]:
    """The broker; after the test it lives, serves another client and has logged no stack trace."""
    logged_before = broker.log_file.stat().st_size
    yield broker
    assert broker.running, broker.output()
    witness.checks_in()
    with open(broker.log_file, errors="replace") as log:
        log.seek(logged_before)
        logged = log.read()
    assert "Traceback" not in logged, logged[-4000:]
