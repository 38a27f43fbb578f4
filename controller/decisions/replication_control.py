"""Topics and partitions: creating, growing and deleting them.

Owns: every check that Kafka makes on such a request, with its error codes and texts, and the
records that follow. Never: changes the image; `MetadataDelta.replay` does.

Follows KIP-4 (topic admin requests), KIP-516 (topic ids), KIP-525 (configs in the answer), and
Kafka's `ReplicationControlManager`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.decisions.configuration_control import (
    ConfigChange,
    ConfigOperation,
    ConfigurationControl,
)
from controller.decisions.decision import (
    MAX_PARTITIONS_PER_REQUEST,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.decisions.manual_assignment import assignment_fault, consecutive_fault
from controller.decisions.mutation_quota import MutationQuota, quota_fault
from controller.decisions.partition_change import default_directory
from controller.decisions.replica_placer import UsableBroker, place_replicas
from controller.hosting_limit import HostingRoom
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.records import MetadataRecord
from controller.metadata.topic_names import (
    can_collide,
    collision_index,
    normalized,
    topic_name_fault,
)
from controller.random_ids import RandomBytes, random_uuid
from controller.settings import ControllerSettings
from ground.sliced_work import BULK_AT_ONCE, Pace, Steps, in_bulk
from protocol.errors import ApiError, ErrorCode
from protocol.messages.create_partitions import CreatePartitionsTopic, CreatePartitionsTopicResult
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
)
from protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOO_MANY_PARTITIONS = ApiError(
    ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
)

NEW_PARTITIONS_A_SLICE = 400
"""The number of partitions that a slice decides before other work has its turn."""
PARTITIONS_A_TOPIC = 16
"""The cost of a topic without its partitions, in pieces of work, of which a partition is one."""


class _NewTopic(NamedTuple):
    records: list[MetadataRecord]
    result: CreatableTopicResult


class ReplicationControl:
    """The decisions on topics. Their only state is the source of randomness."""

    def __init__(
        self,
        settings: ControllerSettings,
        configuration: ConfigurationControl,
        random_bytes: RandomBytes,
    ) -> None:
        self._settings = settings
        self._configuration = configuration
        self._random_bytes = random_bytes

    # --- create --------------------------------------------------------------------------------

    def create_topics(
        self,
        view: DecisionView,
        topics: Sequence[CreatableTopic],
        validate_only: bool,
        quota: MutationQuota | None = None,
    ) -> Steps[Decision[list[CreatableTopicResult]]]:
        """Return the decision that creates `topics`, each on its own: an error does not stop the
        others.

        The reply has a result of each topic. With `validate_only`, there are no records, but
        `quota` is used up all the same. Above a limit of a request, the reply is an error and
        nothing is created. Two topics whose names collide are both created if one request names
        them, as in Kafka.
        """
        if (yield from self._requested_partitions(topics)) > MAX_PARTITIONS_PER_REQUEST:
            return Decision(TOO_MANY_PARTITIONS)
        pace = Pace(NEW_PARTITIONS_A_SLICE)
        names: dict[str, str] | None = None
        room = HostingRoom(self._settings.hosting, view.image)
        records: list[MetadataRecord] = []
        results = []
        for topic in topics:
            if pace.is_full(PARTITIONS_A_TOPIC):
                yield None
            if can_collide(topic.name) and names is None:
                names = collision_index(view.image.topics.by_name)
            new = yield from self._create_topic(view.image, topic, names or {}, room, pace)
            if not isinstance(new, ApiError):
                new = quota_fault(quota, new.result.num_partitions) or new
            if isinstance(new, ApiError):
                results.append(refused_topic(topic.name, new))
                continue
            records += new.records
            results.append(new.result)
        if len(records) > MAX_RECORDS_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        return Decision(results, [] if validate_only else records)

    def _requested_partitions(self, topics: Sequence[CreatableTopic]) -> Steps[int]:
        """Return the number of partitions that the request would create, with the default where it
        names no number."""
        count = 0
        pace = Pace(BULK_AT_ONCE)
        for topic in topics:
            if pace.is_full():
                yield None
            count += (
                len(topic.assignments)
                or (self._settings.num_partitions if topic.num_partitions == -1 else 0)
                or max(topic.num_partitions, 0)
            )
        return count

    def _create_topic(
        self,
        image: MetadataImage,
        topic: CreatableTopic,
        names: Mapping[str, str],
        room: HostingRoom,
        pace: Pace,
    ) -> Steps[_NewTopic | ApiError]:
        """Return the records of a new topic with its response, or the error. Replicas are taken
        from `room`. `names` has the existing topics by normalized name."""
        error = _name_error(image, topic.name, names)
        if error is not None:
            return error
        changes: list[ConfigChange] = []
        yield from in_bulk(
            lambda batch: changes.extend(
                ConfigChange(c.name, ConfigOperation.SET, c.value) for c in batch
            ),
            topic.configs,
        )
        config_records = yield from self._configuration.alter_incrementally(
            image, ResourceType.TOPIC, topic.name, changes, new_topic=True
        )
        if isinstance(config_records, ApiError):
            return config_records
        assignment = yield from self._assignment(image, topic, pace)
        if isinstance(assignment, ApiError):
            return assignment
        error = room.take(assignment)
        if error is not None:
            return error
        topic_id = self._new_topic_id(image)
        partitions = yield from _partition_records(image, topic_id, assignment, 0, pace)
        overrides = {
            record.name: record.value
            for record in config_records
            if isinstance(record, ConfigRecord) and record.value is not None
        }
        result = CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(assignment),
            replication_factor=len(assignment[0]),
            configs=self._described(image, overrides),
        )
        return _NewTopic([TopicRecord(topic.name, topic_id), *config_records, *partitions], result)

    def _described(
        self, image: MetadataImage, overrides: Mapping[str, str]
    ) -> list[CreatableTopicConfigs]:
        """Return the configs of a topic for its CreateTopics response, with `overrides` as its own
        values."""
        return [
            CreatableTopicConfigs(config.name, config.value, False, int(config.source), False)
            for config in self._configuration.effective_topic_configs(image, overrides)
        ]

    def _assignment(
        self, image: MetadataImage, topic: CreatableTopic, pace: Pace
    ) -> Steps[list[list[int]] | ApiError]:
        """Return the replicas of each partition, as requested or placed here, or the error."""
        if topic.assignments:
            return (yield from _manual_assignment(image, topic, pace))
        factor, count = topic.replication_factor, topic.num_partitions
        if factor < -1 or factor == 0:
            text = "Replication factor must be larger than 0, or -1 to use the default value."
            return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        if count < -1 or count == 0:
            text = "Number of partitions was set to an invalid non-positive value."
            return ApiError(ErrorCode.INVALID_PARTITIONS, text)
        factor = self._settings.default_replication_factor if factor == -1 else factor
        count = self._settings.num_partitions if count == -1 else count
        return self._place(image, count, factor)

    def _place(self, image: MetadataImage, count: int, factor: int) -> list[list[int]] | ApiError:
        """Return the replicas of `count` partitions with `factor` replicas each, or the error."""
        placed = place_replicas(usable_brokers(image), count, factor, self._draw)
        if isinstance(placed, ApiError):
            text = f"Unable to replicate the partition {factor} time(s): {placed.message}"
            return ApiError(placed.code, text)
        return placed

    def _draw(self, bound: int) -> int:
        """Return a random number from 0 to `bound` - 1."""
        return int.from_bytes(self._random_bytes(8), "big") % bound

    def _new_topic_id(self, image: MetadataImage) -> bytes:
        """Return a random id that no topic has."""
        while True:
            topic_id = random_uuid(self._random_bytes)
            if topic_id not in image.topics.by_id:
                return topic_id

    # --- delete --------------------------------------------------------------------------------

    def delete_topics(
        self, view: DecisionView, topic_ids: Sequence[bytes], quota: MutationQuota | None = None
    ) -> Steps[Decision[dict[bytes, ApiError]]]:
        """Return the decision that deletes the topics that exist, as far as the quota allows. The
        reply has the error of each of the others. Above MAX_RECORDS_PER_OPERATION, the reply is
        TOO_MANY_RECORDS and nothing is deleted."""
        refused: dict[bytes, ApiError] = {}
        records: list[MetadataRecord] = []
        pace = Pace()
        for topic_id in topic_ids:
            if pace.is_full():
                yield None
            topic = view.image.topics.get_by_id(topic_id)
            if topic is None:
                refused[topic_id] = ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
            elif (fault := quota_fault(quota, len(topic.partitions))) is not None:
                refused[topic_id] = fault
            else:
                records.append(RemoveTopicRecord(topic_id))
        if len(records) > MAX_RECORDS_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        return Decision(refused, records)

    # --- grow ----------------------------------------------------------------------------------

    def create_partitions(
        self,
        view: DecisionView,
        topics: Sequence[CreatePartitionsTopic],
        validate_only: bool,
        quota: MutationQuota | None = None,
    ) -> Steps[Decision[list[CreatePartitionsTopicResult]]]:
        """Return the decision that adds partitions to `topics`, each on its own.

        The reply has a result of each topic. With `validate_only`, there are no records, but
        `quota` is used up all the same. Above MAX_RECORDS_PER_OPERATION, the reply is
        TOO_MANY_RECORDS.
        """
        records: list[MetadataRecord] = []
        results = []
        room, pace = HostingRoom(self._settings.hosting, view.image), Pace(NEW_PARTITIONS_A_SLICE)
        for topic in topics:
            if pace.is_full():
                yield None
            added = yield from self._add_partitions(view.image, topic, room, pace)
            if not isinstance(added, ApiError):
                added = quota_fault(quota, len(added)) or added
            if isinstance(added, ApiError):
                result = CreatePartitionsTopicResult(topic.name, added.code, added.message)
                results.append(result)
            else:
                records += added
                results.append(CreatePartitionsTopicResult(topic.name))
        if len(records) > MAX_RECORDS_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        return Decision(results, [] if validate_only else records)

    def _add_partitions(
        self, image: MetadataImage, topic: CreatePartitionsTopic, room: HostingRoom, pace: Pace
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records of a topic's new partitions, or the error. Replicas are taken from
        `room`."""
        present = image.topics.get(topic.name)
        if present is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        count = len(present.partitions)
        additional = topic.count - count
        error = _growth_error(topic, count, additional)
        if error is not None:
            return error
        factor = len(present.partitions[0].replicas)
        assignment: list[list[int]] | ApiError
        if topic.assignments is None:
            assignment = self._place(image, additional, factor)
        else:
            assignment = [list(a.broker_ids) for a in topic.assignments]
            for index, replicas in enumerate(assignment, count):
                if pace.is_full():
                    yield None
                fault = assignment_fault(image, index, replicas, factor)
                if fault is not None:
                    return fault
        if isinstance(assignment, ApiError):
            return assignment
        error = room.take(assignment)
        if error is not None:
            return error
        return (yield from _partition_records(image, present.id, assignment, count, pace))


def refused_topic(name: str, error: ApiError) -> CreatableTopicResult:
    """Return the CreateTopics result of a topic that is rejected with `error`. Its configs are
    empty, never null."""
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def usable_brokers(image: MetadataImage) -> list[UsableBroker]:
    """Return the brokers on which new replicas may be placed: all registered ones that are not in
    controlled shutdown."""
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in image.brokers.values()
        if not broker.in_controlled_shutdown
    ]


def _growth_error(topic: CreatePartitionsTopic, count: int, additional: int) -> ApiError | None:
    """Return the error of a new partition count, None if it is valid. `count` is the present
    one."""
    if additional == 0:
        return ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
    if additional < 0:
        text = (
            f"The topic {topic.name} currently has {count} partition(s); "
            f"{topic.count} would not be an increase."
        )
        return ApiError(ErrorCode.INVALID_PARTITIONS, text)
    if additional > MAX_PARTITIONS_PER_REQUEST:
        return TOO_MANY_PARTITIONS
    if topic.assignments is not None and len(topic.assignments) != additional:
        text = (
            f"Attempted to add {additional} additional partition(s), but only "
            f"{len(topic.assignments)} assignment(s) were specified."
        )
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    return None


def _name_error(image: MetadataImage, name: str, names: Mapping[str, str]) -> ApiError | None:
    """Return the error of a new topic's name: invalid, in use, or colliding with another. None if
    it is free."""
    fault = topic_name_fault(name)
    if fault is not None:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if image.topics.get(name) is not None:
        return ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = names.get(normalized(name)) if can_collide(name) else None
    if other is not None:
        text = f"Topic '{name}' collides with existing topic: {other}"
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
    return None


def _manual_assignment(
    image: MetadataImage, topic: CreatableTopic, pace: Pace
) -> Steps[list[list[int]] | ApiError]:
    """Return the requested replicas of each partition in order, or the error."""
    if topic.replication_factor != -1:
        text = (
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    if topic.num_partitions != -1:
        text = "A manual partition assignment was specified, but numPartitions was not set to -1."
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    assigned: dict[int, list[int]] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        if pace.is_full():
            yield None
        index, replicas = assignment.partition_index, list(assignment.broker_ids)
        if index in assigned:
            text = f"Found multiple manual partition assignments for partition {index}"
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        fault = assignment_fault(image, index, replicas, factor)
        if fault is not None:
            return fault
        assigned[index] = replicas
        factor = len(replicas)
    fault = consecutive_fault(assigned)
    if fault is not None:
        return fault
    return [assigned[index] for index in range(len(assigned))]


def _partition_records(
    image: MetadataImage, topic_id: bytes, assignment: list[list[int]], first: int, pace: Pace
) -> Steps[list[MetadataRecord]]:
    """Return the records of new partitions, with indexes from `first` on."""
    records: list[MetadataRecord] = []
    for index, replicas in enumerate(assignment, first):
        if pace.is_full():
            yield None
        records.append(_partition_record(image, topic_id, index, replicas))
    return records


def _partition_record(
    image: MetadataImage, topic_id: bytes, index: int, replicas: list[int]
) -> PartitionRecord:
    """Return the record of a new partition: every replica on an active broker is in the ISR, and
    the first of these leads."""
    isr = [replica for replica in replicas if image.brokers[replica].active]
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[default_directory(image.brokers[replica]) for replica in replicas],
    )
