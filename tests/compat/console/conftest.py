"""A console with the right to write, in front of a scene of its own.

With `--broker=apache-kafka`, the tests that use its fixtures run in front of Apache Kafka. Without
it, only those of `test_apache_kafka.py` do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.console.scene import make_scene
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.console import running_console
from tests.tools.java_tools import FAST_START

ORDERS_MADE = 400
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""The properties of a broker with an authorizer, on which the tests' login has all rights."""


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """Bootstrap address and data folder of a broker with a scene."""
    if request.config.getoption("--broker") == "apache-kafka":
        with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=PROPERTIES) as kafka:
            make_scene(kafka.bootstrap, orders=ORDERS_MADE, reader="alice")
            yield kafka.bootstrap, kafka.data_dir
    else:
        ottla = request.getfixturevalue("ottla_broker_factory")(properties=PROPERTIES)
        make_scene(ottla.bootstrap_servers, orders=ORDERS_MADE, reader="alice")
        yield ottla.bootstrap_servers, ottla.data_dir


@pytest.fixture(scope="module")
def bootstrap(node: tuple[str, Path]) -> str:
    """`host:port` for clients."""
    return node[0]


@pytest.fixture(scope="module")
def link(node: tuple[str, Path]) -> Iterator[str]:
    """Where the console is."""
    with running_console(node[0], ["--allow-writes"], [node[1]]) as running:
        yield running
