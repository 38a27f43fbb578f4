"""Topics: made and led when that is told, deleted and gone when that is told, and what is in them.

Every broker is asked, so that a client that asks any of them finds what the test was told.
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
from testbed.operations.port import POLL_S, NoAnswer, World, check, name_of

CREATE_TOPICS_VERSION = 5
CREATE_PARTITIONS_VERSION = 2
DELETE_TOPICS_VERSION = 4
REASSIGNMENTS_VERSION = 0
ELECT_LEADERS_VERSION = 2
PREFERRED = 0
TIMEOUT_S = 10.0

Leaders = dict[str, dict[int, int]]
"""By topic and partition; -1 where nobody leads."""


async def create(
    world: World,
    name: str,
    partitions: int = 1,
    replication: int = -1,
    configs: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Json]:
    """A topic that every broker knows and whose leaders serve; `replication` -1: as the brokers
    have it for their default. One that is there already is refused."""
    settings = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name, partitions, replication, [], settings)
    request = CreateTopicsRequest([topic], int(timeout_s * 1000))
    answer = await world.ask(None, request, CREATE_TOPICS_VERSION)
    for one in answer.topics:
        check(one.error_code, f"topic {name} was not created", one.error_message)
    leaders = await led(world, [name], timeout_s)
    return {"name": name, "partitions": sorted(leaders[name])}


async def grow(
    world: World, name: str, partitions: int, timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """More partitions: so many in all."""
    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, partitions, None)], int(timeout_s * 1000)
    )
    answer = await world.ask(None, request, CREATE_PARTITIONS_VERSION)
    for one in answer.results:
        check(one.error_code, f"topic {name} has no more partitions", one.error_message)
    leaders = await led(world, [name], timeout_s, partitions)
    return {"name": name, "partitions": sorted(leaders[name])}


async def delete(world: World, names: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
    """Topics that no broker knows any more; those that are not there are none."""
    if not names:
        return
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=int(timeout_s * 1000))
    answer = await world.ask(None, request, DELETE_TOPICS_VERSION)
    for one in answer.responses:
        if one.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            check(one.error_code, f"topic {one.name} was not deleted", one.error_message)

    async def lacking(node: int) -> str | None:
        left = await leaders_at(world, node, names)
        return f"node {node} still names {', '.join(left)}" if left else None

    await _everywhere(world, lacking, timeout_s)


async def describe(world: World, names: Sequence[str] | None = None) -> dict[str, Json]:
    """By topic and partition: leader, start and end of the log. `names` None: all topics that are
    not the brokers' own. One that is not there is left out."""
    leaders = await leaders_at(world, None, names)
    partitions = [(name, index) for name in leaders for index in sorted(leaders[name])]
    starts = await offsets(world, leaders, partitions, EARLIEST)
    ends = await offsets(world, leaders, partitions, LATEST)
    found: dict[str, Json] = {name: {} for name in leaders}
    for name, index in partitions:
        found[name][str(index)] = {
            "leader": leaders[name][index],
            "start": starts.get((name, index)),
            "end": ends.get((name, index)),
        }
    return found


async def lead(
    world: World,
    name: str,
    partition: int = 0,
    node_id: int | None = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Another replica leads a partition, when every broker says so: that of `node_id`, or the next
    one that is in sync. It is the preferred one from then on. The node."""
    view = await _metadata(world, None, [name])
    known = (one for topic in view.topics if not topic.error_code for one in topic.partitions)
    found = next((one for one in known if one.partition_index == partition), None)
    if found is None:
        raise OperationError("misuse", f"there is no partition {name}-{partition}")
    in_sync = ", ".join(map(str, found.isr_nodes))
    others = [one for one in found.isr_nodes if one != found.leader_id]
    leader = node_id if node_id is not None else next(iter(others), -1)
    if leader not in found.isr_nodes:
        whom = "no other node" if node_id is None else f"not node {node_id}"
        raise OperationError("misuse", f"in sync with {name}-{partition} is {in_sync}, {whom}")
    replicas = [leader, *(one for one in found.replica_nodes if one != leader)]
    await _prefer(world, name, partition, replicas, int(timeout_s * 1000))

    async def lacking(node: int) -> str | None:
        now = (await leaders_at(world, node, [name])).get(name, {}).get(partition, -1)
        said = f"node {node} says that {name}-{partition} is led by {now}, not by {leader}"
        return None if now == leader else said

    await _everywhere(world, lacking, timeout_s)
    return leader


async def _prefer(
    world: World, name: str, partition: int, replicas: Sequence[int], timeout_ms: int
) -> None:
    """Have the first of a partition's replicas lead it."""
    what = f"{name}-{partition} has no other leader"
    order = ReassignablePartition(partition, list(replicas))
    asked = [ReassignableTopic(name, [order])]
    reassigned = await world.ask(
        None, AlterPartitionReassignmentsRequest(timeout_ms, True, asked), REASSIGNMENTS_VERSION
    )
    check(reassigned.error_code, what, reassigned.error_message)
    for topic in reassigned.responses:
        for one in topic.partitions:
            check(one.error_code, what, one.error_message)
    elections = [TopicPartitions(name, [partition])]
    elected = await world.ask(
        None, ElectLeadersRequest(PREFERRED, elections, timeout_ms), ELECT_LEADERS_VERSION
    )
    check(elected.error_code, what)
    for result in elected.replica_election_results:
        for one in result.partition_result:
            if one.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                check(one.error_code, what, one.error_message)


# --- for other operations ------------------------------------------------------------------------


async def nodes(world: World) -> list[int]:
    """The brokers that are there now."""
    view = await _metadata(world, None, [])
    return [broker.node_id for broker in view.brokers]


async def leaders_at(world: World, node: int | None, names: Sequence[str] | None) -> Leaders:
    """Topics as a node sees them; those that it does not know are left out. `names` None: all that
    are not the brokers' own."""
    view = await _metadata(world, node, names)
    return {
        topic.name or "": {one.partition_index: one.leader_id for one in topic.partitions}
        for topic in view.topics
        if not topic.error_code and not (names is None and topic.is_internal)
    }


async def led(world: World, names: Sequence[str], timeout_s: float, partitions: int = 1) -> Leaders:
    """Every broker knows these topics, and the leaders of all their partitions serve."""
    leaders: Leaders = {}

    async def lacking(node: int) -> str | None:
        leaders.update(await leaders_at(world, node, names))
        found = await _lacking(world, leaders, names, partitions)
        return None if found is None else f"node {node} says: {found}"

    await _everywhere(world, lacking, timeout_s)
    return leaders


async def offsets(
    world: World,
    leaders: Leaders,
    partitions: Sequence[Partition],
    timestamp: int,
    isolation: int = READ_UNCOMMITTED,
) -> dict[Partition, int]:
    """Of each partition whose leader tells it."""
    told = await _told_offsets(world, leaders, partitions, timestamp, isolation)
    return {at: one.offset for at, one in told.items() if one.error_code == ErrorCode.NONE}


def flat(leaders: Leaders) -> dict[Partition, int]:
    """The same by partition alone."""
    return {(name, index): led for name, own in leaders.items() for index, led in own.items()}


async def _everywhere(
    world: World, lacking: Callable[[int], Awaitable[str | None]], timeout_s: float
) -> None:
    """Until nothing is lacking at any node, of which `lacking` tells what is. Raises OperationError
    with that."""
    deadline_s = world.now_s() + timeout_s
    while True:
        found = None
        try:
            for node in await nodes(world):
                found = found or await lacking(node)
        except NoAnswer as error:
            found = str(error)
        if found is None:
            return
        if world.now_s() >= deadline_s:
            raise OperationError("deadline", f"after {timeout_s:g} s {found}")
        await world.pause(POLL_S)


async def _metadata(
    world: World, node: int | None, names: Sequence[str] | None
) -> MetadataResponse:
    answer: MetadataResponse = await world.ask(node, metadata_request(names), METADATA_VERSION)
    return answer


async def _lacking(
    world: World, leaders: Leaders, names: Sequence[str], partitions: int
) -> str | None:
    """What is not there yet; None: nothing."""
    for name in names:
        if len(leaders.get(name, ())) < partitions:
            return f"topic {name} has {len(leaders.get(name, ()))} partitions"
    every = [(name, index) for name in names for index in leaders[name]]
    for name, index in every:
        if leaders[name][index] < 0:
            return f"{name}-{index} has no leader"
    answers = await _told_offsets(world, leaders, every, LATEST, READ_UNCOMMITTED)
    for (name, index), told in answers.items():
        if told.error_code != ErrorCode.NONE:
            error = name_of(told.error_code)
            return f"{name}-{index}: {error} at its leader, node {leaders[name][index]}"
    return None


async def _told_offsets(
    world: World,
    leaders: Leaders,
    partitions: Sequence[Partition],
    timestamp: int,
    isolation: int,
) -> dict[Partition, ListOffsetsPartitionResponse]:
    """Return the answer of each partition's leader; partitions without a leader are left out."""
    wanted = dict.fromkeys(partitions, timestamp)
    return await world.run(list_offsets(flat(leaders), wanted, isolation))
