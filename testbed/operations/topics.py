"""Operations on topics: create, grow, delete, describe, move a leader. A change returns after every
broker has it, so a client sees the change at any broker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST, READ_UNCOMMITTED, list_offsets
from client.core.operation import METADATA_VERSION, metadata_request
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol.messages.list_offsets import ListOffsetsPartitionResponse
from protocol.messages.metadata import MetadataResponse
from testbed.operation_error import OperationError
from testbed.operations.port import POLL_S, NoAnswer, OperationWorld, check, name_of

CREATE_TOPICS_VERSION = 5
CREATE_PARTITIONS_VERSION = 2
DELETE_TOPICS_VERSION = 4
REASSIGNMENTS_VERSION = 0
ELECT_LEADERS_VERSION = 2
PREFERRED = 0
TIMEOUT_S = 10.0

Leaders = dict[str, dict[int, int]]
"""Node ids by topic and partition; -1 if the partition has no leader."""


async def create(
    world: OperationWorld,
    name: str,
    partitions: int = 1,
    replication: int = -1,
    configs: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Json]:
    """Create a topic, and return its name and partition numbers when every broker knows it and its
    leaders serve. `replication` -1: the brokers' default. Raises OperationError if the topic exists
    or the time is over."""
    settings = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name, partitions, replication, [], settings)
    request = CreateTopicsRequest([topic], int(timeout_s * 1000))
    answer = await world.ask(None, request, CREATE_TOPICS_VERSION)
    for result in answer.topics:
        check(result.error_code, f"topic {name} was not created", result.error_message)
    leaders = await led(world, [name], timeout_s)
    return {"name": name, "partitions": sorted(leaders[name])}


async def grow(
    world: OperationWorld, name: str, partitions: int, timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """Increase a topic's partitions to `partitions` in all. Return its name and partition numbers
    when every broker knows them and their leaders serve. Raises OperationError."""
    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, partitions, None)], int(timeout_s * 1000)
    )
    answer = await world.ask(None, request, CREATE_PARTITIONS_VERSION)
    for result in answer.results:
        check(result.error_code, f"topic {name} has no more partitions", result.error_message)
    leaders = await led(world, [name], timeout_s, partitions)
    return {"name": name, "partitions": sorted(leaders[name])}


async def delete(world: OperationWorld, names: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
    """Delete topics, and return when no broker knows them. Topics that do not exist are ignored.
    Raises OperationError if a topic is not deleted in time."""
    if not names:
        return
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=int(timeout_s * 1000))
    answer = await world.ask(None, request, DELETE_TOPICS_VERSION)
    for result in answer.responses:
        if result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            check(result.error_code, f"topic {result.name} was not deleted", result.error_message)

    async def lacking(node: int) -> str | None:
        """Return which topics the node still names, None if it names none."""
        remaining = await leaders_at(world, node, names)
        return f"node {node} still names {', '.join(remaining)}" if remaining else None

    await everywhere(world, lacking, timeout_s)


async def describe(world: OperationWorld, names: Sequence[str] | None = None) -> dict[str, Json]:
    """Return "leader", "start" and "end" of the log by topic and partition number as text. An
    offset that the leader does not answer is null. `names` None: all topics but internal ones.
    Topics that do not exist are left out."""
    leaders = await leaders_at(world, None, names)
    partitions = [(name, index) for name in leaders for index in sorted(leaders[name])]
    starts = await offsets(world, leaders, partitions, EARLIEST)
    ends = await offsets(world, leaders, partitions, LATEST)
    described: dict[str, Json] = {name: {} for name in leaders}
    for name, index in partitions:
        described[name][str(index)] = {
            "leader": leaders[name][index],
            "start": starts.get((name, index)),
            "end": ends.get((name, index)),
        }
    return described


async def lead(
    world: OperationWorld,
    name: str,
    partition: int = 0,
    node_id: int | None = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Make another replica lead a partition, and return its node when every broker names it. The
    leader is `node_id`, or the next replica in sync; it is the preferred one from then on.

    Raises OperationError if there is no such partition, or no such replica in sync.
    """
    view = await _metadata(world, None, [name])
    listed = (p for topic in view.topics if not topic.error_code for p in topic.partitions)
    described = next((p for p in listed if p.partition_index == partition), None)
    if described is None:
        raise OperationError("misuse", f"there is no partition {name}-{partition}")
    in_sync = ", ".join(map(str, described.isr_nodes))
    others = [node for node in described.isr_nodes if node != described.leader_id]
    leader = node_id if node_id is not None else next(iter(others), -1)
    if leader not in described.isr_nodes:
        missing_node = "no other node" if node_id is None else f"not node {node_id}"
        raise OperationError(
            "misuse", f"in sync with {name}-{partition} is {in_sync}, {missing_node}"
        )
    replicas = [leader, *(node for node in described.replica_nodes if node != leader)]
    await _prefer(world, name, partition, replicas, int(timeout_s * 1000))

    async def lacking(node: int) -> str | None:
        """Return why the node does not name the new leader yet, None once it does."""
        current_leader = (await leaders_at(world, node, [name])).get(name, {}).get(partition, -1)
        complaint = (
            f"node {node} says that {name}-{partition} is led by {current_leader}, not by {leader}"
        )
        return None if current_leader == leader else complaint

    await everywhere(world, lacking, timeout_s)
    return leader


async def _prefer(
    world: OperationWorld, name: str, partition: int, replicas: Sequence[int], timeout_ms: int
) -> None:
    """Put a partition's replicas in this order, and elect the first of them leader. Raises
    OperationError if a node rejects that."""
    failure_text = f"{name}-{partition} has no other leader"
    order = ReassignablePartition(partition, list(replicas))
    topics = [ReassignableTopic(name, [order])]
    reassigned = await world.ask(
        None, AlterPartitionReassignmentsRequest(timeout_ms, True, topics), REASSIGNMENTS_VERSION
    )
    check(reassigned.error_code, failure_text, reassigned.error_message)
    for topic in reassigned.responses:
        for response in topic.partitions:
            check(response.error_code, failure_text, response.error_message)
    elections = [TopicPartitions(name, [partition])]
    elected = await world.ask(
        None, ElectLeadersRequest(PREFERRED, elections, timeout_ms), ELECT_LEADERS_VERSION
    )
    check(elected.error_code, failure_text)
    for result in elected.replica_election_results:
        for response in result.partition_result:
            if response.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                check(response.error_code, failure_text, response.error_message)


# --- for other operations ------------------------------------------------------------------------


async def nodes(world: OperationWorld) -> list[int]:
    """Return the ids of the live brokers, as any node names them."""
    view = await _metadata(world, None, [])
    return [broker.node_id for broker in view.brokers]


async def leaders_at(
    world: OperationWorld, node: int | None, names: Sequence[str] | None
) -> Leaders:
    """Return topics with their leaders as a node sees them (None: any node); unknown topics are
    left out. `names` None: all topics but internal ones."""
    view = await _metadata(world, node, names)
    return {
        topic.name or "": {p.partition_index: p.leader_id for p in topic.partitions}
        for topic in view.topics
        if not topic.error_code and not (names is None and topic.is_internal)
    }


async def led(
    world: OperationWorld, names: Sequence[str], timeout_s: float, partitions: int = 1
) -> Leaders:
    """Wait until every broker knows these topics with at least `partitions` partitions, and the
    leaders of all of them serve; return the leaders. Raises OperationError after `timeout_s`."""
    leaders: Leaders = {}

    async def lacking(node: int) -> str | None:
        """Add the node's leaders to `leaders`.

        Return what the topics lack at this node, None if all partitions are led.
        """
        leaders.update(await leaders_at(world, node, names))
        missing = await _lacking(world, leaders, names, partitions)
        return None if missing is None else f"node {node} says: {missing}"

    await everywhere(world, lacking, timeout_s)
    return leaders


async def offsets(
    world: OperationWorld,
    leaders: Leaders,
    partitions: Sequence[Partition],
    timestamp: int,
    isolation: int = READ_UNCOMMITTED,
) -> dict[Partition, int]:
    """Return the offset of each partition for `timestamp`: EARLIEST, LATEST or ms since the epoch.
    Partitions without a leader, or whose leader answers an error, are left out."""
    answers = await _listed_offsets(world, leaders, partitions, timestamp, isolation)
    return {
        at: answer.offset for at, answer in answers.items() if answer.error_code == ErrorCode.NONE
    }


def flat(leaders: Leaders) -> dict[Partition, int]:
    """Return the leaders by topic and partition in one dict."""
    return {
        (name, index): node
        for name, topic_leaders in leaders.items()
        for index, node in topic_leaders.items()
    }


async def everywhere(
    world: OperationWorld, lacking: Callable[[int], Awaitable[str | None]], timeout_s: float
) -> None:
    """Wait until `lacking` returns None for every live broker, and each answers. Raises
    OperationError with its last text after `timeout_s`."""
    deadline_s = world.now_s() + timeout_s
    while True:
        missing = None
        try:
            for node in await nodes(world):
                missing = missing or await lacking(node)
        except NoAnswer as error:
            missing = str(error)
        if missing is None:
            return
        if world.now_s() >= deadline_s:
            raise OperationError("deadline", f"after {timeout_s:g} s {missing}")
        await world.pause(POLL_S)


async def _metadata(
    world: OperationWorld, node: int | None, names: Sequence[str] | None
) -> MetadataResponse:
    """Return a node's Metadata (None: any node's) about topics; `names` None: about all. No topic
    is created."""
    answer: MetadataResponse = await world.ask(node, metadata_request(names), METADATA_VERSION)
    return answer


async def _lacking(
    world: OperationWorld, leaders: Leaders, names: Sequence[str], partitions: int
) -> str | None:
    """Return what these topics lack before clients can use them, in words: `partitions` partitions,
    a leader, or a leader that serves. None: nothing."""
    for name in names:
        if len(leaders.get(name, ())) < partitions:
            return f"topic {name} has {len(leaders.get(name, ()))} partitions"
    every = [(name, index) for name in names for index in leaders[name]]
    for name, index in every:
        if leaders[name][index] < 0:
            return f"{name}-{index} has no leader"
    answers = await _listed_offsets(world, leaders, every, LATEST, READ_UNCOMMITTED)
    for (name, index), answer in answers.items():
        if answer.error_code != ErrorCode.NONE:
            error = name_of(answer.error_code)
            return f"{name}-{index}: {error} at its leader, node {leaders[name][index]}"
    return None


async def _listed_offsets(
    world: OperationWorld,
    leaders: Leaders,
    partitions: Sequence[Partition],
    timestamp: int,
    isolation: int,
) -> dict[Partition, ListOffsetsPartitionResponse]:
    """Return the answer of each partition's leader, which may have an error; partitions without a
    leader are left out. `timestamp` as in `offsets`."""
    wanted = dict.fromkeys(partitions, timestamp)
    return await world.run(list_offsets(flat(leaders), wanted, isolation))
