"""Conversations of groups: the same requests to any broker, and a transcript of its answers.

What Apache Kafka answered is kept in `tests/golden/groups_kafka_4_3_0.txt`; Ottla's coordinator has
to answer the same: `test_group_coordinator_conversation.py` in process and in virtual time,
`tests/compat/test_group_answers.py` over the network. Ids that a broker draws are numbered in the
order in which they appear. Written anew by `python -m tests.clients.group_conversation PORT`, with
a fresh Apache Kafka at PORT that has `group.initial.rebalance.delay.ms=0` and `group.max.size=4`.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages import (
    create_topics,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "groups_kafka_4_3_0.txt"
TOPIC = "conversation"
SESSION_MS = 30_000
# Kafka keeps these in hash maps: their order says nothing.
_UNORDERED: dict[str, Callable[[Any], Any]] = {
    "members": lambda member: (member.member_id, member.group_instance_id or ""),
    "results": lambda result: result.group_id,
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Wire(Protocol):
    """A connection: `tests.clients.wire_client.WireClient`, or one in process."""

    def send(self, request: Any, version: int) -> None: ...

    def receive(self) -> Any: ...

    def call(self, request: Any, version: int) -> Any: ...


Connect = Callable[[str], Wire]


class Transcript:
    """Lines of a conversation, comparable between brokers."""

    def __init__(self, connect: Connect) -> None:
        self.connect = connect
        self.lines: list[str] = []
        self._uuids: dict[str, str] = {}
        self.topic_id = bytes(16)

    def title(self, text: str) -> None:
        self._uuids.clear()
        self.lines += ["", f"# {text}"]

    def tell(self, what: str, response: Any) -> Any:
        text = _UUID.sub(self._number, self._show(response))
        self.lines.append(f"{what} -> {text}")
        return response

    def _number(self, match: re.Match[str]) -> str:
        return self._uuids.setdefault(match[0], f"#{len(self._uuids) + 1}")

    def _show(self, value: Any) -> str:
        if isinstance(value, bytes):
            return "topic-id" if value == self.topic_id and any(value) else repr(value)
        if isinstance(value, list):
            return "[" + ", ".join(self._show(item) for item in value) + "]"
        if not isinstance(value, Message):
            return repr(value)
        shown = []
        for name in value.__slots__:
            content = getattr(value, name)
            if name in _UNORDERED:
                content = sorted(content, key=_UNORDERED[name])
            if name in ("error_message", "host", "port", "throttle_time_ms"):
                continue
            if name == "error_code":
                shown.append(ErrorCode(content).name)
            else:
                shown.append(f"{name}={self._show(content)}")
        return "(" + ", ".join(shown) + ")"


def subscription(*topics: str) -> bytes:
    """A consumer's metadata, version 0."""
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def joining(group: str, member: str = "", **changes: Any) -> join_group.JoinGroupRequest:
    """A JoinGroup of a consumer; `protocols` are names or (name, metadata)."""
    names = changes.pop("protocols", ["range"])
    protocols = [
        join_group.JoinGroupRequestProtocol(
            *(n if isinstance(n, tuple) else (n, subscription(TOPIC)))
        )
        for n in names
    ]
    values = {
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        **changes,
    }
    return join_group.JoinGroupRequest(
        group_id=group, member_id=member, protocols=protocols, **values
    )


def syncing(
    group: str, generation: int, member: str, shares: dict[str, bytes] | None = None, **changes: Any
) -> sync_group.SyncGroupRequest:
    """A SyncGroup; the leader's has `shares`."""
    values = {"protocol_type": "consumer", "protocol_name": "range", **changes}
    return sync_group.SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        assignments=[
            sync_group.SyncGroupRequestAssignment(key, share)
            for key, share in (shares or {}).items()
        ],
        **values,
    )


def beat(group: str, generation: int, member: str, instance: str | None = None) -> Any:
    return heartbeat.HeartbeatRequest(group, generation, member, instance)


def leaving(group: str, *members: tuple[str, str | None]) -> Any:
    return leave_group.LeaveGroupRequest(
        group_id=group, members=[leave_group.MemberIdentity(*member) for member in members]
    )


def committing(group: str, offset: int, **changes: Any) -> offset_commit.OffsetCommitRequest:
    """An OffsetCommit of `partitions` (default: 0) of `topic`."""
    topic = changes.pop("topic", TOPIC)
    topic_id = changes.pop("topic_id", bytes(16))
    text = changes.pop("metadata", "")
    partitions = changes.pop("partitions", [0])
    return offset_commit.OffsetCommitRequest(
        group_id=group,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                topic,
                topic_id,
                [
                    offset_commit.OffsetCommitRequestPartition(p, offset + p, 3, text)
                    for p in partitions
                ],
            )
        ],
        **changes,
    )


def fetching(group: str, topics: list[str] | None, **changes: Any) -> Any:
    """An OffsetFetch in the form of v1-7 and of v8-10 at once."""
    partitions = [0, 1]
    topic_id = changes.pop("topic_id", bytes(16))
    return offset_fetch.OffsetFetchRequest(
        group_id=group,
        topics=None
        if topics is None
        else [offset_fetch.OffsetFetchRequestTopic(name, partitions) for name in topics],
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                group,
                topics=None
                if topics is None
                else [
                    offset_fetch.OffsetFetchRequestTopics(name, topic_id, partitions)
                    for name in topics
                ],
            )
        ],
        **changes,
    )


def describing(*groups: str) -> Any:
    return describe_groups.DescribeGroupsRequest(list(groups), True)


def nobody(t: Transcript) -> None:
    """A group that does not exist, and requests that name none."""
    t.title("a group that does not exist")
    wire = t.connect("nobody")
    request: Any
    for group in ("absent", ""):
        for version in (0, 4):
            t.tell(f"heartbeat v{version} {group!r}", wire.call(beat(group, 1, "m"), version))
        for version in (0, 5):
            t.tell(f"sync v{version} {group!r}", wire.call(syncing(group, 1, "m"), version))
            t.tell(f"join v{version} {group!r}", wire.call(joining(group, "m"), version))
        one = leave_group.LeaveGroupRequest(group_id=group, member_id="m")
        t.tell(f"leave v0 {group!r}", wire.call(one, 0))
        t.tell(f"leave v5 {group!r}", wire.call(leaving(group, ("m", None), ("", "i")), 5))
        t.tell(f"delete {group!r}", wire.call(delete_groups.DeleteGroupsRequest([group]), 2))
        t.tell(f"describe v5 {group!r}", wire.call(describing(group), 5))
        t.tell(f"describe v6 {group!r}", wire.call(describing(group), 6))
        for version in (8, 9):
            request = committing(group, 5, generation_id_or_member_epoch=1, member_id="m")
            t.tell(f"commit v{version} {group!r}", wire.call(request, version))
        for version in (1, 5, 8):
            t.tell(f"fetch v{version} {group!r}", wire.call(fetching(group, [TOPIC]), version))
        t.tell(f"fetch v7 all {group!r}", wire.call(fetching(group, None), 7))
        request = offset_delete.OffsetDeleteRequest(
            group,
            [
                offset_delete.OffsetDeleteRequestTopic(
                    TOPIC, [offset_delete.OffsetDeleteRequestPartition(0)]
                )
            ],
        )
        t.tell(f"offset delete {group!r}", wire.call(request, 0))
    t.tell("sync v5 without protocol", wire.call(sync_group.SyncGroupRequest("absent"), 5))


def refused_joins(t: Transcript) -> None:
    """JoinGroup with values that no group accepts."""
    t.title("refused joins")
    wire = t.connect("refused")
    request: Any
    for session in (5_999, 1_800_001):
        request = joining("refused", session_timeout_ms=session)
        t.tell(f"session {session}", wire.call(request, 9))
    t.tell("no protocols", wire.call(joining("refused-1", protocols=[]), 9))
    t.tell("no type", wire.call(joining("refused-2", protocol_type=""), 9))
    t.tell("unknown member", wire.call(joining("refused-1", "m"), 9))
    t.tell("unknown member, static", wire.call(joining("refused-1", "m", group_instance_id="i"), 9))


def alone(t: Transcript) -> None:
    """One member, in every version."""
    for version in range(10):
        t.title(f"one member, JoinGroup v{version}")
        group = f"alone-{version}"
        wire = t.connect("alone")
        request: Any
        joined = t.tell("join", wire.call(joining(group), version))
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            t.tell("pending, heartbeat", wire.call(beat(group, 0, joined.member_id), 4))
            t.tell("pending, described", wire.call(describing(group), 5))
            joined = t.tell("join again", wire.call(joining(group, joined.member_id), version))
        me = joined.member_id
        generation = joined.generation_id
        sync_version = min(version, 5)
        t.tell("heartbeat", wire.call(beat(group, generation, me), 3))
        request = committing(group, 1, generation_id_or_member_epoch=generation, member_id=me)
        t.tell("commit before sync", wire.call(request, 8))
        t.tell("described", wire.call(describing(group), 5))
        request = syncing(group, generation, me, {me: b"all"})
        t.tell("sync", wire.call(request, sync_version))
        t.tell("sync again", wire.call(syncing(group, generation, me), sync_version))
        t.tell("described", wire.call(describing(group), 5))
        request = committing(group, 1, generation_id_or_member_epoch=generation, member_id=me)
        t.tell("commit", wire.call(request, 8))
        t.tell("leader rejoins", wire.call(joining(group, me), version))
        request = leave_group.LeaveGroupRequest(group_id=group, member_id=me)
        t.tell("leave v1", wire.call(request, 1))
        t.tell("described", wire.call(describing(group), 5))
        t.tell("heartbeat", wire.call(beat(group, generation + 2, me), 4))
        t.tell("join with the old id", wire.call(joining(group, me), version))


def _member(t: Transcript, wire: Wire, group: str, **changes: Any) -> str:
    """A member id of one's own."""
    joined = t.tell("new", wire.call(joining(group, **changes), 9))
    return str(joined.member_id)


def pair(t: Transcript) -> None:
    """Two members through the states, and requests that do not fit."""
    t.title("two members")
    group = "pair"
    one, two, admin = t.connect("one"), t.connect("two"), t.connect("admin")
    request: Any
    first = _member(t, one, group, protocols=["range", "sticky"])
    both = ["range", "sticky"]
    joined = t.tell("first joins", one.call(joining(group, first, protocols=both), 9))
    t.tell("first syncs", one.call(syncing(group, 1, first, {first: b"all"}), 5))
    second = _member(t, two, group, protocols=["range", "roundrobin"])
    two.send(joining(group, second, protocols=["range", "roundrobin"]), 9)
    _until(one, beat(group, 1, first), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.tell("heartbeat of first", one.call(beat(group, 1, first), 4))
    t.tell("sync of first", one.call(syncing(group, 1, first), 5))
    t.tell("described", admin.call(describing(group), 5))
    t.tell("old generation", one.call(beat(group, 0, first), 4))
    t.tell("foreign member", one.call(beat(group, 1, "x"), 4))
    request = committing(group, 5, generation_id_or_member_epoch=1, member_id=first)
    t.tell("commit while preparing", one.call(request, 9))
    request = committing(group, 5)
    t.tell("commit from outside", admin.call(request, 9))
    joined = t.tell("first rejoins", one.call(joining(group, first, protocols=both), 9))
    t.tell("second joined", two.receive())
    protocol = joined.protocol_name
    t.tell("described", admin.call(describing(group), 5))
    t.tell("first repeats", one.call(joining(group, first, protocols=both), 9))
    t.tell("second beats", two.call(beat(group, 2, second), 4))
    request = syncing(group, 2, second, protocol_name="sticky")
    t.tell("sync, other protocol", two.call(request, 5))
    request = syncing(group, 2, second, protocol_name=protocol, protocol_type="connect")
    t.tell("sync, other type", two.call(request, 5))
    t.tell("sync, old generation", two.call(syncing(group, 1, second), 5))
    two.send(syncing(group, 2, second, protocol_name=protocol), 5)
    request = syncing(group, 2, first, {first: b"a", second: b"b"}, protocol_name=protocol)
    t.tell("first syncs", one.call(request, 5))
    t.tell("second synced", two.receive())
    t.tell("described", admin.call(describing(group), 6))
    request = joining(group, second, protocols=["range", "roundrobin"])
    t.tell("follower repeats", two.call(request, 9))
    t.tell("other type joins", admin.call(joining(group, protocol_type="connect"), 9))
    t.tell("other protocol joins", admin.call(joining(group, protocols=["sticky"]), 9))
    t.tell("delete", admin.call(delete_groups.DeleteGroupsRequest([group]), 2))
    t.tell("offsets of a subscribed topic", admin.call(_deleting(group), 0))
    two.send(
        joining(group, second, protocols=[("range", subscription(TOPIC, "more")), "roundrobin"]), 9
    )
    _until(one, beat(group, 2, first), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.tell("first leaves", one.call(leaving(group, (first, None), (first, None)), 5))
    t.tell("second leads", two.receive())
    t.tell("second leaves", two.call(leaving(group, (second, None), ("", None)), 5))
    t.tell("described", admin.call(describing(group), 6))
    t.tell("offsets deleted", admin.call(_deleting(group), 0))
    t.tell("deleted", admin.call(delete_groups.DeleteGroupsRequest([group, group, "absent"]), 2))
    t.tell("described", admin.call(describing(group), 6))


def _deleting(group: str) -> Any:
    topics = [
        offset_delete.OffsetDeleteRequestTopic(
            name, [offset_delete.OffsetDeleteRequestPartition(p) for p in (0, 9)]
        )
        for name in (TOPIC, "no-such-topic")
    ]
    return offset_delete.OffsetDeleteRequest(group, topics)


def _until(wire: Wire, request: Any, version: int, error: ErrorCode) -> None:
    """Repeat `request` until it answers `error`: another connection's request has arrived."""
    for _ in range(1_000):
        if wire.call(request, version).error_code == error:
            return
    raise AssertionError(f"never {error.name}")


def static(t: Transcript) -> None:
    """Static members: replaced, fenced, removed."""
    t.title("static members")
    group = "static"
    one, two, admin = t.connect("one"), t.connect("two"), t.connect("admin")
    request: Any
    joined = t.tell("join", one.call(joining(group, group_instance_id="a"), 9))
    first = joined.member_id
    t.tell("sync", one.call(syncing(group, 1, first, {first: b"1"}, group_instance_id="a"), 5))
    two.send(joining(group, group_instance_id="b"), 9)
    _until(one, beat(group, 1, first, "a"), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.tell("leader rejoins", one.call(joining(group, first, group_instance_id="a"), 9))
    second = t.tell("second joined", two.receive()).member_id
    shares = {first: b"1", second: b"2"}
    t.tell("leader syncs", one.call(syncing(group, 2, first, shares, group_instance_id="a"), 5))
    t.tell("second syncs", two.call(syncing(group, 2, second, group_instance_id="b"), 5))
    t.tell("described", admin.call(describing(group), 6))
    for version in (7, 9):
        joined = t.tell(
            f"second restarts v{version}",
            two.call(joining(group, group_instance_id="b"), version),
        )
        t.tell("old second beats", two.call(beat(group, 2, second, "b"), 4))
        t.tell("old second, no instance", two.call(beat(group, 2, second), 4))
        request = joining(group, second, group_instance_id="b")
        t.tell("old second joins", two.call(request, version))
        t.tell("old second syncs", two.call(syncing(group, 2, second, group_instance_id="b"), 5))
        t.tell("old second leaves", two.call(leaving(group, (second, "b")), 5))
        request = committing(
            group,
            5,
            generation_id_or_member_epoch=2,
            member_id=second,
            group_instance_id="b",
        )
        t.tell("old second commits", two.call(request, 9))
        second = joined.member_id
        t.tell("new second syncs", two.call(syncing(group, 2, second, group_instance_id="b"), 5))
    for version in (8, 9):
        joined = t.tell(
            f"leader restarts v{version}",
            one.call(joining(group, group_instance_id="a"), version),
        )
        first = joined.member_id
        t.tell("new leader syncs", one.call(syncing(group, 2, first, group_instance_id="a"), 5))
        t.tell("new leader beats", one.call(beat(group, 2, first, "a"), 4))
    t.tell("unknown instance", one.call(beat(group, 2, first, "zz"), 4))
    t.tell("described", admin.call(describing(group), 6))
    two.send(joining(group, group_instance_id="b", protocols=["range", "roundrobin"]), 9)
    t.tell("more protocols, same choice", two.receive())
    t.tell(
        "no common protocol", two.call(joining(group, group_instance_id="b", protocols=["x"]), 9)
    )
    t.tell("removed", admin.call(leaving(group, ("", "b"), ("", "zz"), ("", "a")), 5))
    t.tell("described", admin.call(describing(group), 6))
    t.tell("delete", admin.call(delete_groups.DeleteGroupsRequest([group]), 2))


def crowded(t: Transcript) -> None:
    """More members than `group.max.size` (4)."""
    t.title("too many members")
    group = "crowded"
    one, *others = [t.connect(f"c{n}") for n in range(4)]
    admin = t.connect("admin")
    first = one.call(joining(group), 3).member_id
    one.call(syncing(group, 1, first, {first: b"1"}), 3)
    for wire in others:
        wire.send(joining(group), 3)
    for _ in range(1_000):
        if len(admin.call(describing(group), 5).groups[0].members) == 4:
            break
    t.tell("all are there", one.call(joining(group, first), 3).generation_id)
    for wire in others:
        t.tell("joined", wire.receive().error_code)
    t.tell("an unknown member", admin.call(joining(group, "m"), 9))
    t.tell("a stranger", admin.call(joining(group), 9))
    t.tell("a stranger v3", admin.call(joining(group), 3))
    t.tell("a static stranger", admin.call(joining(group, group_instance_id="s"), 9))


def offsets(t: Transcript) -> None:
    """Commits and reads, in every version."""
    t.title("offsets")
    group = "offsets"
    wire = t.connect("offsets")
    request: Any
    for version in range(2, 11):
        request = committing(
            group,
            version * 10,
            partitions=[0, 1, 9],
            metadata=f"v{version}",
            topic_id=t.topic_id if version >= 10 else bytes(16),
        )
        t.tell(f"commit v{version}", wire.call(request, version))
    for version in range(1, 11):
        topic_id = t.topic_id if version >= 10 else bytes(16)
        request = fetching(group, [TOPIC], topic_id=topic_id)
        t.tell(f"fetch v{version}", wire.call(request, version))
    for version in range(2, 11):
        t.tell(f"fetch all v{version}", wire.call(fetching(group, None), version))
    t.tell("unknown topic", wire.call(committing(group, 1, topic="no-such-topic"), 9))
    unknown = bytes(range(16))
    t.tell("unknown id", wire.call(committing(group, 1, topic_id=unknown), 10))
    t.tell("no id", wire.call(committing(group, 1), 10))
    t.tell("fetch unknown topic", wire.call(fetching(group, ["no-such-topic"]), 9))
    t.tell("fetch unknown id", wire.call(fetching(group, [TOPIC], topic_id=unknown), 10))
    t.tell("4096 characters", wire.call(committing(group, 1, metadata="é" * 4096), 9))
    t.tell("4097 characters", wire.call(committing(group, 1, metadata="x" * 4097), 9))
    t.tell("null metadata", wire.call(committing(group, 1, metadata=None), 9))
    t.tell("fetch", wire.call(fetching(group, [TOPIC], require_stable=True), 9))
    request = committing(group, 1, member_id="m")
    t.tell("member without generation", wire.call(request, 9))
    request = committing(group, 1, generation_id_or_member_epoch=3, member_id="m")
    t.tell("generation of an empty group", wire.call(request, 9))
    t.tell("described", wire.call(describing(group), 6))
    t.tell("join", wire.call(joining(group), 9))
    t.tell("described", wire.call(describing(group), 6))
    t.tell("offsets deleted", wire.call(_deleting(group), 0))
    t.tell("fetch all", wire.call(fetching(group, None), 9))
    t.tell("several groups", wire.call(_several(group, "absent"), 9))
    t.tell("no groups", wire.call(_several(), 9))
    t.tell("empty group id", wire.call(committing("", 77), 9))
    t.tell("empty group id", wire.call(fetching("", [TOPIC]), 9))
    t.tell("deleted", wire.call(delete_groups.DeleteGroupsRequest([group, ""]), 2))
    t.tell("fetch", wire.call(fetching(group, [TOPIC]), 9))


def _several(*groups: str) -> Any:
    return offset_fetch.OffsetFetchRequest(
        groups=[offset_fetch.OffsetFetchRequestGroup(group, topics=None) for group in groups]
    )


def listing(t: Transcript) -> None:
    """ListGroups with its filters."""
    t.title("list groups")
    wire = t.connect("listing")
    wire.call(joining("listed", group_instance_id="i"), 9)
    wire.call(committing("listed-simple", 1), 9)
    for version, states, types in [
        (0, [], []),
        (3, [], []),
        (4, ["empty", "CompletingRebalance"], []),
        (5, ["nonsense"], []),
        (5, [], ["CLASSIC"]),
        (5, [], ["consumer"]),
        (5, [], ["nonsense"]),
        (5, ["Empty"], ["classic"]),
    ]:
        answer = wire.call(list_groups.ListGroupsRequest(states, types), version)
        answer.groups = sorted(
            (group for group in answer.groups if group.group_id.startswith("listed")),
            key=lambda group: group.group_id,
        )
        t.tell(f"v{version} {states} {types}", answer)


def finding(t: Transcript) -> None:
    """FindCoordinator in every version."""
    t.title("find coordinator")
    wire = t.connect("finding")
    for version in range(7):
        request = find_coordinator.FindCoordinatorRequest(
            key="offsets", key_type=0, coordinator_keys=["offsets", "", "pair"]
        )
        t.tell(f"v{version}", wire.call(request, version))
    for version in (3, 5):
        request = find_coordinator.FindCoordinatorRequest(
            key="x", key_type=2, coordinator_keys=["x"]
        )
        t.tell(f"share group v{version}", wire.call(request, version))


CONVERSATIONS = [
    nobody,
    refused_joins,
    alone,
    pair,
    static,
    crowded,
    offsets,
    listing,
    finding,
]


def prepare(wire: Wire) -> bytes:
    """Make the topic, and a coordinator for every group; the topic's id."""
    topic = create_topics.CreatableTopic(TOPIC, 2, 1)
    wire.call(create_topics.CreateTopicsRequest([topic], 10_000), 7)
    groups = ["absent", ""]
    for _ in range(600):
        request = find_coordinator.FindCoordinatorRequest(coordinator_keys=groups)
        found = wire.call(request, 4).coordinators
        loaded = wire.call(describing(*groups), 5).groups
        if not any(one.error_code for one in [*found, *loaded]):
            break
    asked = metadata.MetadataRequest([metadata.MetadataRequestTopic(name=TOPIC)], False)
    return bytes(wire.call(asked, 12).topics[0].topic_id)


def converse(connect: Connect, topic_id: bytes) -> list[str]:
    """All conversations, one after the other."""
    transcript = Transcript(connect)
    transcript.topic_id = topic_id
    for conversation in CONVERSATIONS:
        conversation(transcript)
    return transcript.lines[1:]


def main(port: int) -> None:
    """Write down what the broker at `port` answers."""
    from tests.clients.wire_client import WireClient

    topic_id = prepare(WireClient(port))
    lines = converse(lambda name: WireClient(port, name), topic_id)
    GOLDEN.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
