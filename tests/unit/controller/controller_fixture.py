"""What the controller's tests share: one node in memory and virtual time, registered and unfenced.

Nothing here sleeps: `call` submits a request and runs events until its answer is there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from controller.authorization.rights import UNLIMITED, Rights
from controller.controller_node import ControllerNode
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from controller.settings import DEFAULT_FEATURES, ControllerSettings
from controller.storage_format import (
    format_directories,
    read_bootstrap,
    read_directories,
)
from controller.voter_set import VoterSet
from ground.filesystem import LocalFilesystem
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_response
from protocol.messages import metadata_records as m
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from storage.log.log_dir_failure import LogDirFailure, LogDirFailureChannel
from storage.log.log_environment import LogEnvironment

LOG_DIR = "/data"
CLUSTER_ID = "b3R0bGEtY29udHJvbGxlcg"


@dataclass
class Context:
    """Of a request."""

    api_version: int
    api_key: int = 0
    listener_name: str = "CONTROLLER"
    rights: Rights = UNLIMITED
    security_protocol: str = "PLAINTEXT"
    principal: str = "User:ANONYMOUS"
    token_authenticated: bool = False
    quota: Any = None


class OneNode:
    """A combined node on `filesystem`, which outlives it: a second OneNode is a restart."""

    def __init__(
        self,
        filesystem: MemoryFilesystem | LocalFilesystem | None = None,
        seed: int = 1,
        scheduler: SimScheduler | None = None,
        log_dir: str = LOG_DIR,
        is_sliced: bool = True,
        slices: Callable[[SlicedWork], Any] | None = None,
        **settings: Any,
    ) -> None:
        """Make the node. Without `is_sliced` long work is done in one go; `slices` makes answers of
        long requests, as a broker does."""
        self.random = random.Random(seed)
        self.scheduler = scheduler or SimScheduler(seed)
        self.blocking = SimBlocking(self.scheduler)
        self.filesystem: Any = filesystem or MemoryFilesystem()
        self.failures: list[Exception] = []
        directories = read_directories(self.filesystem, [log_dir]) or format_directories(
            self.filesystem, [log_dir], log_dir, CLUSTER_ID, 1, self.random.randbytes,
            self.scheduler.wall_ms(),
        )  # fmt: skip
        self.log_dirs = [directories.directory_ids[log_dir]]
        values = {
            "node_id": 1,
            "cluster_id": directories.cluster_id,
            "directory_id": self.log_dirs[0],
            "metadata_log_dir": log_dir,
            "static_voters": VoterSet.of_ids(1),
            **settings,
        }
        environment = LogEnvironment(
            self.filesystem, self.scheduler, self.blocking, LogDirFailureChannel()
        )
        self.sliced = SlicedWork(self.scheduler, self.blocking, 0)
        self.node = ControllerNode(
            ControllerSettings(**values),
            environment,
            self.random.randbytes,
            read_bootstrap(self.filesystem, log_dir),
            self.failures.append,
            sliced=self.sliced if is_sliced else None,
            slices=slices(self.sliced) if slices else None,
        )
        self.changes: list[tuple[MetadataDelta, MetadataImage]] = []
        self.node.add_listener(lambda delta, image: self.changes.append((delta, image)))
        self.broker_epoch = -1

    def start(self) -> OneNode:
        """Lead the quorum."""
        self.node.start()
        self.scheduler.run_until(lambda: self.node.controller.is_active)
        self.settle()
        return self

    def settle(self) -> None:
        """Run what is due now."""
        self.scheduler.run_for(0)

    def register(self, broker_id: int = 1, rack: str | None = None, unfence: bool = True) -> int:
        """Register a broker and unfence it; its epoch."""
        own = self.log_dirs if broker_id == 1 else [self.random.randbytes(16)]
        answer = self.call(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=self.random.randbytes(16),
                listeners=[Listener("PLAINTEXT", f"host-{broker_id}", 9092, 0)],
                features=[Feature(name, *levels) for name, levels in DEFAULT_FEATURES.items()],
                rack=rack,
                log_dirs=own,
            ),
            4,
        )
        assert answer.error_code == 0, answer
        if unfence:
            beat = self.heartbeat(broker_id, answer.broker_epoch)
            assert not beat.is_fenced, beat
        if broker_id == 1:
            self.broker_epoch = answer.broker_epoch
        epoch: int = answer.broker_epoch
        return epoch

    def heartbeat(self, broker_id: int, epoch: int, **fields: Any) -> Any:
        """One heartbeat of a broker that has read everything."""
        offset = self.node.image.offset
        request = BrokerHeartbeatRequest(broker_id, epoch, offset, **fields)
        return self.call(request, 2)

    def send(
        self,
        request: Any,
        version: int,
        respond: Callable[[Any], None],
        rights: Rights = UNLIMITED,
    ) -> None:
        """Submit `request`, and wait for nothing."""
        context = Context(version, request.API_KEY, rights=rights)
        self.node.apis.handle(context, request, respond)

    def call(self, request: Any, version: int, rights: Rights = UNLIMITED) -> Any:
        """The answer to `request`."""
        answers: list[Any] = []
        self.send(request, version, answers.append, rights)
        self.scheduler.run_until(lambda: bool(answers))
        assert len(answers) == 1
        return answers[0]

    def stop(self) -> None:
        """A clean end."""
        self.node.close()

    def stop_quietly(self) -> None:
        """An end in which the disk may refuse to take part."""
        with suppress(LogDirFailure):
            self.node.close()

    def kill(self) -> None:
        """Process death: nothing runs any more, written bytes stay."""
        self.blocking.alive = False
        self.filesystem.kill()


def image_of(*records: MetadataRecord, offset: int = 100) -> MetadataImage:
    """The image that `records` make."""
    delta = MetadataDelta(MetadataImage())
    for record in records:
        delta.replay(record)
    return delta.apply(offset, 1, 0)


def broker_record(
    broker_id: int, rack: str | None = None, fenced: bool = False, directories: int = 1
) -> m.RegisterBrokerRecord:
    """A registered broker with `directories` log directories."""
    return m.RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=bytes([broker_id] * 16),
        broker_epoch=broker_id * 10,
        end_points=[m.BrokerEndpoint("PLAINTEXT", f"host-{broker_id}", 9092, 0)],
        features=[m.BrokerFeature("metadata.version", 7, 30)],
        rack=rack,
        fenced=fenced,
        log_dirs=[bytes([broker_id] * 15 + [n]) for n in range(directories)],
    )


def topic_records(
    name: str, topic_id: bytes, *replicas: list[int], isr: list[int] | None = None
) -> list[MetadataRecord]:
    """A topic whose partitions have `replicas`, all in sync unless `isr` says otherwise."""
    records: list[MetadataRecord] = [m.TopicRecord(name, topic_id)]
    for index, brokers in enumerate(replicas):
        in_sync = brokers if isr is None else isr
        records.append(
            m.PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=brokers,
                isr=in_sync,
                leader=in_sync[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes(16)] * len(brokers),
            )
        )
    return records


def as_sent(answer: Any, request: Any, version: int) -> Any:
    """The answer as it comes out of the wire."""
    frame = encode_response(answer, version, 7).joined()[4:]
    return decode_response(ApiKey(request.API_KEY), memoryview(frame), version)[1]
