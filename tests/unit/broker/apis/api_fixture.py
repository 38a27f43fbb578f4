"""A cluster's metadata that a test makes by records, and requests that go through the codec.

`ask` encodes and decodes request and response in the version under test, so that a field that this
version does not carry is lost here as it is on the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.requests.context import Handle, RequestContext
from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.records import MetadataRecord
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode, decode_response, encode_response
from protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from protocol.primitives import MessageBuffer

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
NODE_ID = 1
DIRECTORY = bytes(15) + b"\x07"
LOST = bytes(15) + b"\x01"


class Cluster:
    """An `ImageSource`; one broker to begin with, more as a test says."""

    def __init__(self, brokers: Sequence[int] = (NODE_ID,)) -> None:
        self.image = MetadataImage()
        self._offset = 0
        for broker_id in brokers:
            self.register(broker_id)

    def replay(self, *records: MetadataRecord) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self._offset += 1
        self.image = delta.apply(self._offset, 1, 0)

    def register(
        self,
        broker_id: int,
        *,
        fenced: bool = False,
        rack: str | None = None,
        listeners: Sequence[str] = ("PLAINTEXT", "OUTSIDE"),
    ) -> None:
        ports = {"PLAINTEXT": 9092, "OUTSIDE": 19092}
        endpoints = [
            BrokerEndpoint(name, f"{name.lower()}-{broker_id}", ports[name], 0)
            for name in listeners
        ]
        self.replay(
            RegisterBrokerRecord(
                broker_id,
                broker_epoch=self._offset,
                end_points=endpoints,
                rack=rack,
                fenced=fenced,
                log_dirs=[DIRECTORY],
            )
        )

    def shut_down(self, broker_id: int) -> None:
        """Let a broker begin a controlled shutdown."""
        epoch = self.image.brokers[broker_id].epoch
        self.replay(BrokerRegistrationChangeRecord(broker_id, epoch, in_controlled_shutdown=1))

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replicas: Sequence[int] = (NODE_ID,),
        isr: Sequence[int] | None = None,
        leader: int = NODE_ID,
        directory: bytes = DIRECTORY,
    ) -> bytes:
        """Make a topic; its id."""
        topic_id = name.encode().ljust(16, b"_")[:16]
        records: list[MetadataRecord] = [TopicRecord(name, topic_id)]
        for index in range(partitions):
            records.append(
                PartitionRecord(
                    index,
                    topic_id,
                    list(replicas),
                    list(replicas if isr is None else isr),
                    leader=leader,
                    leader_epoch=4,
                    partition_epoch=5,
                    directories=[directory] * len(replicas),
                )
            )
        self.replay(*records)
        return topic_id

    def set_config(self, kind: int, name: str, key: str, value: str | None) -> None:
        self.replay(ConfigRecord(kind, name, key, value))

    def set_topic_config(self, name: str, key: str, value: str) -> None:
        self.set_config(ResourceType.TOPIC, name, key, value)


def context(
    api_key: int, version: int, listener: str = "PLAINTEXT", rights: Rights = UNLIMITED
) -> RequestContext:
    return RequestContext(api_key, version, 7, "test", "127.0.0.1", listener, "c1", rights)


def ask(
    handle: Handle,
    request: Any,
    version: int,
    listener: str = "PLAINTEXT",
    rights: Rights = UNLIMITED,
) -> Any:
    """What a client of `version` reads; fails unless there is exactly one answer by now."""
    answers: list[Any] = []
    ask_later(handle, request, version, answers, listener, rights)
    assert len(answers) == 1, f"{len(answers)} answers"
    return answers[0]


def ask_later(
    handle: Handle,
    request: Any,
    version: int,
    answers: list[Any],
    listener: str = "PLAINTEXT",
    rights: Rights = UNLIMITED,
) -> None:
    """Send; the response goes into `answers` when there is one."""
    key = ApiKey(request.API_KEY)

    def respond(response: Any) -> None:
        out = encode_response(response, version, 7)
        answers.append(decode_response(key, memoryview(out.joined())[4:], version)[1])

    handle(context(key, version, listener, rights), through_the_wire(request, version), respond)


def through_the_wire(request: Any, version: int) -> Any:
    """`request` as the broker reads it in `version`."""
    out = MessageBuffer()
    request.write(out, version)
    return decode(type(request), memoryview(out.joined()), 0, version)
