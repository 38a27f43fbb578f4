"""With `--broker=apache-kafka` the plugin's fixtures are pointed at a real Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing.remote import VARIABLE
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the fixture `ottla` alone."""
    if config.getoption("--broker") != "apache-kafka":
        return
    for item in items:
        if item.path.parent == HERE and "ottla" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="it starts brokers of Ottla itself"))


@pytest.fixture(scope="session", autouse=True)
def real_cluster(request: pytest.FixtureRequest) -> Iterator[None]:
    """As a user does it: by the environment variable, which may be set already."""
    if request.config.getoption("--broker") != "apache-kafka":
        yield
        return
    with (
        ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv(VARIABLE, kafka.bootstrap)
        yield
