"""The class that an interceptor of Produce requests extends: it may reject records.

An interceptor changes no record. A log contains what the producer sent, byte for byte, with the
client's own checksum and compression. So neither reading nor replication has to decompress a batch.
A broker that changed records would have to compress each batch again, and the producer could not
know what was written. To change records, consume them and write the result to another topic.

Kafka has no such plug-in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple


class ProducedRecord(NamedTuple):
    """A record that a client wants to append."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    """Milliseconds since 1970, as the producer sent them."""


class ProduceInterceptor(ABC):
    """The class that `ottla.produce.interceptor.class` names. It sees each record before its batch
    is appended.

    The broker calls it on the event loop for each record, so all clients wait while it runs. It
    makes the broker decompress each batch, and use no prepared answers to Produce requests. If it
    raises, the record is rejected. It does not see records of internal topics.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings: the value of each key in its file. Does nothing unless a
        subclass overrides it. The broker calls this once, before the first record; if it raises,
        the node does not start."""

    @abstractmethod
    def refusal(self, record: ProducedRecord) -> str | None:
        """Return why the record is rejected, as a text for the client, or None to accept it.

        If one record is rejected, so is its whole batch, with INVALID_RECORD and the texts of its
        rejected records. The client gets the first 100 of these, each with at most 1,000
        characters.
        """
