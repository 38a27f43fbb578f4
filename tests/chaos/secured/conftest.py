"""A broker with secured listeners that hostile clients come to, and what is held against each test.

After a test nobody was let in but the bystander, which was served and saw no error; the log has no
stack trace and no secret; memory and descriptors are back.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.secured.bystander import Bystander
from tests.chaos.secured.secured_broker import PASSWORD, SecuredBroker
from tests.tools.waiting import wait_until

GROWTH_BYTES_MAX = 64 * 1024 * 1024
"""At the usual number of connections. glibc keeps the memory of the greatest number that were open
at a time, some 60 KB each over TLS: of 9,000 half handshakes 180 MB stayed, and `malloc_trim` gave
back all of them."""
GROWTH_TIMES_MAX = 4
KEPT_DESCRIPTORS = 3
"""Of the bystander and of the metrics, which come and go."""


class Siege:
    """What a test is given."""

    def __init__(self, broker: SecuredBroker, times: int) -> None:
        self.broker = broker
        self.ports = broker.ports
        self.times = times
        """How often a test is to do what it does, by `--hostile-times`."""
        self.let_in = 0
        """Logins that the test itself makes, rightly."""
        self._log_began = broker.log_file.stat().st_size

    def logged(self) -> str:
        """What the broker has logged since the test began."""
        with open(self.broker.log_file, errors="replace") as log:
            log.seek(self._log_began)
            return log.read()


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("stores")) as process:
        process.add_users()
        yield process
        assert process.stop() == 0, process.output()


@pytest.fixture(scope="package")
def bystander(
    broker: SecuredBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bystander]:
    with Bystander(tmp_path_factory.mktemp("bystander"), broker.ports) as client:
        yield client


@pytest.fixture
def siege(
    broker: SecuredBroker, bystander: Bystander, request: pytest.FixtureRequest
) -> Iterator[Siege]:
    descriptors, resident = broker.descriptors, broker.resident_bytes
    let_in = broker.logins()
    it = Siege(broker, request.config.getoption("--hostile-times"))
    bystander.begin()
    yield it
    assert broker.running, broker.output()
    seen = bystander.end()
    logged = it.logged()
    assert "Traceback" not in logged, logged[-4000:]
    assert PASSWORD not in logged
    assert broker.logins() - let_in == seen.logins + it.let_in
    assert seen.logins > 0
    wait_until(
        lambda: broker.descriptors <= descriptors + KEPT_DESCRIPTORS,
        f"the {descriptors} descriptors from before",
        pause_s=0.05,
    )
    growth_max = GROWTH_BYTES_MAX * min(it.times, GROWTH_TIMES_MAX)
    assert broker.resident_bytes - resident < growth_max
