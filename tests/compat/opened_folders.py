"""A data folder that Ottla or Apache Kafka opens, for tests in which both open it in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START


@contextmanager
def opened(
    by: str, folder: Path, factory: Callable[..., Any], killed: bool
) -> Iterator[WireClient]:
    """Run a broker (`by` is ottla or kafka) on the folder, with a client; then stop or kill it."""
    if by == "kafka":
        with ApacheKafka(
            data_dir=folder, static_voters=True, jvm_options=FAST_START, heap="512m"
        ) as kafka:
            with WireClient(kafka.port) as client:
                yield client
            if killed:
                kafka.kill()
            assert kafka.errors() == []
        return
    broker = factory(data_dir=folder)
    try:
        with WireClient(broker.port) as client:
            yield client
        if killed:
            broker.kill()
    finally:
        broker.close()
