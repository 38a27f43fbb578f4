"""Which records are refused: the class that an interceptor of Produce extends.

It changes no record. What a log has is what the producer sent, byte for byte: its checksum and its
compression are the client's, and nobody unpacks a batch to read it or to copy it to followers.
A broker that wrote something else would have to pack each batch anew, and a producer could not
tell what it has written. What is to be changed is changed by a consumer that writes to another
topic.

Kafka has no such plug-in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple


class ProducedRecord(NamedTuple):
    """One record that a client wants to append."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    """Milliseconds since 1970, as the producer sent it."""


class ProduceInterceptor(ABC):
    """Looks at each record before its batch is appended (`ottla.produce.interceptor.class`).

    It is asked on the event loop, for each record: whatever it does, all clients wait for. A batch
    is unpacked for it, and no Produce is answered as prepared. One that raises refuses the record.
    Internal topics are not looked at.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first record. `settings` are those of the node."""

    @abstractmethod
    def refusal(self, record: ProducedRecord) -> str | None:
        """Why it must not be appended, for the client; None: it may. If one record is refused, its
        whole batch is, with INVALID_RECORD and the texts of the refused ones."""
