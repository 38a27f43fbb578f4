"""A request as a client really sent it, decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ottla.testing.frames import Json
from ottla.testing.records import Record, headers_from


@dataclass(frozen=True, slots=True)
class Request:
    """One request, in the order in which requests came.

    `fields` are those of Kafka's message, in snake case; a Produce has "batches" in the place of
    its records. None where the bytes are no such request: `error` says why.
    """

    node_id: int
    """Of the broker that it was sent to."""
    number: int
    """Of all that came to that broker since its last reset, from 1 on."""
    api: str | None
    version: int | None
    client_id: str | None
    correlation_id: int | None
    connection: str
    principal: str
    time_ms: int
    """When it came, by the broker's clock."""
    size: int
    """Bytes of its frame."""
    prepared: bool
    """Whether it was answered by what the broker had prepared for its like."""
    fields: Mapping[str, Json] | None
    error: str | None

    @property
    def records(self) -> list[Record]:
        """Of a Produce: what it was to append. Offsets are those within their batch."""
        return list(self._records())

    def _records(self) -> Iterator[Record]:
        for topic in (self.fields or {}).get("topic_data", ()):
            for partition in topic["partition_data"]:
                for batch in partition["batches"]:
                    for offset, one in enumerate(batch["records"]):
                        yield Record(
                            topic["name"],
                            partition["index"],
                            offset,
                            one["timestamp"],
                            one["key"],
                            one["value"],
                            headers_from(one["headers"]),
                        )


def request_from(found: Mapping[str, Json]) -> Request:
    """A request as the control channel gives it."""
    return Request(
        found["node_id"],
        found["number"],
        found["api"],
        found["version"],
        found["client_id"],
        found["correlation_id"],
        found["connection"],
        found["principal"],
        found["time_ms"],
        found["size"],
        found["prepared"],
        found["request"],
        found["error"],
    )
