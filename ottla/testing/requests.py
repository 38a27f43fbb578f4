"""A client's request as the broker received it, decoded for a test.

`Request` is the same concept as `protocol.frames.message_codec.Request`, with plain values for a
test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ottla.testing.frames import Json
from ottla.testing.records import Record, headers_from


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a client has sent to the broker.

    `fields` are those of Kafka's message, in snake case; a Produce has "batches" instead of its
    records. They are None if the bytes cannot be decoded; then `error` says why.
    """

    node_id: int
    """The id of the broker that received the request."""
    number: int
    """The position among the requests that came to that broker since its last reset, from 1 on."""
    api: str | None
    version: int | None
    client_id: str | None
    correlation_id: int | None
    connection: str
    principal: str
    time_ms: int
    """The time at which the request came, by the broker's clock: milliseconds since 1970."""
    size: int
    """Bytes of the request's frame."""
    prepared: bool
    """Whether the broker used an answer that it had prepared for equal requests."""
    fields: Mapping[str, Json] | None
    error: str | None

    @property
    def records(self) -> list[Record]:
        """The records of a Produce request. Their offsets are those within their batch."""
        return list(self._records())

    def _records(self) -> Iterator[Record]:
        """Yield the records of a Produce request; nothing of other requests.

        Offsets count within a batch.
        """
        for topic in (self.fields or {}).get("topic_data", ()):
            for partition in topic["partition_data"]:
                for batch in partition["batches"]:
                    for offset, record in enumerate(batch["records"]):
                        yield Record(
                            topic["name"],
                            partition["index"],
                            offset,
                            record["timestamp"],
                            record["key"],
                            record["value"],
                            headers_from(record["headers"]),
                        )


def request_from(values: Mapping[str, Json]) -> Request:
    """Return the request that the control channel has returned as a dict."""
    return Request(
        values["node_id"],
        values["number"],
        values["api"],
        values["version"],
        values["client_id"],
        values["correlation_id"],
        values["connection"],
        values["principal"],
        values["time_ms"],
        values["size"],
        values["prepared"],
        values["request"],
        values["error"],
    )
