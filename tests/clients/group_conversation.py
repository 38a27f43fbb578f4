"""Conversations of groups: the same requests to any broker, and a transcript of its answers.

`tests/golden/groups_kafka.txt` has Apache Kafka's answers, and Ottla's coordinator must give
the same: `test_group_coordinator_conversation.py` compares them in process and in virtual time,
`tests/compat/test_group_answers.py` over the network. The transcript numbers a broker's random ids
in the order in which they appear. `tests.golden.group_record` writes the file again.
"""

from __future__ import annotations

import re
import struct
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

GOLDEN = Path(__file__).parents[1] / "golden" / "groups_kafka.txt"
TOPIC = "conversation"
SESSION_MS = 30_000
# Kafka keeps these in hash maps, so their order is arbitrary.
_UNORDERED: dict[str, Callable[[Any], Any]] = {
    "members": lambda member: (member.member_id, member.group_instance_id or ""),
    "results": lambda result: result.group_id,
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Wire(Protocol):
    """A connection to a broker: `tests.clients.wire_client.WireClient`, or one in this process."""

    def send(self, request: Any, version: int) -> None: ...

    def receive(self) -> Any: ...

    def call(self, request: Any, version: int) -> Any: ...


Connect = Callable[[str], Wire]


class Transcript:
    """The lines of a conversation, in a form that is comparable between brokers."""

    def __init__(self, connect: Connect) -> None:
        self.connect = connect
        self.lines: list[str] = []
        self._uuids: dict[str, str] = {}
        self.topic_id = bytes(16)

    def title(self, text: str) -> None:
        self._uuids.clear()
        self.lines += ["", f"# {text}"]

    def note(self, title: str, response: Any) -> Any:
        """Add a line with the response, and return the response."""
        text = _UUID.sub(self._number, self._show(response))
        self.lines.append(f"{title} -> {text}")
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
    """Return a consumer's metadata, version 0, with these topics."""
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def joining(group: str, member: str = "", **changes: Any) -> join_group.JoinGroupRequest:
    """Return a consumer's JoinGroup; `protocols` are names or pairs of name and metadata."""
    names = changes.pop("protocols", ["range"])
    protocols = [
        join_group.JoinGroupRequestProtocol(
            *(protocol if isinstance(protocol, tuple) else (protocol, subscription(TOPIC)))
        )
        for protocol in names
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
    """Return a SyncGroup; that of the leader has `shares`, the assignments by member id."""
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
    """Return an OffsetCommit of `partitions` (default: 0) of `topic`."""
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
    """Return an OffsetFetch with the fields of v1-7 and of v8-10."""
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


def absent_group(t: Transcript) -> None:
    """Ask about a group that does not exist, and about the empty group id."""
    t.title("a group that does not exist")
    wire = t.connect("nobody")
    request: Any
    for group in ("absent", ""):
        for version in (0, 4):
            t.note(f"heartbeat v{version} {group!r}", wire.call(beat(group, 1, "m"), version))
        for version in (0, 5):
            t.note(f"sync v{version} {group!r}", wire.call(syncing(group, 1, "m"), version))
            t.note(f"join v{version} {group!r}", wire.call(joining(group, "m"), version))
        request_v0 = leave_group.LeaveGroupRequest(group_id=group, member_id="m")
        t.note(f"leave v0 {group!r}", wire.call(request_v0, 0))
        t.note(f"leave v5 {group!r}", wire.call(leaving(group, ("m", None), ("", "i")), 5))
        t.note(f"delete {group!r}", wire.call(delete_groups.DeleteGroupsRequest([group]), 2))
        t.note(f"describe v5 {group!r}", wire.call(describing(group), 5))
        t.note(f"describe v6 {group!r}", wire.call(describing(group), 6))
        for version in (8, 9):
            request = committing(group, 5, generation_id_or_member_epoch=1, member_id="m")
            t.note(f"commit v{version} {group!r}", wire.call(request, version))
        for version in (1, 5, 8):
            t.note(f"fetch v{version} {group!r}", wire.call(fetching(group, [TOPIC]), version))
        t.note(f"fetch v7 all {group!r}", wire.call(fetching(group, None), 7))
        request = offset_delete.OffsetDeleteRequest(
            group,
            [
                offset_delete.OffsetDeleteRequestTopic(
                    TOPIC, [offset_delete.OffsetDeleteRequestPartition(0)]
                )
            ],
        )
        t.note(f"offset delete {group!r}", wire.call(request, 0))
    t.note("sync v5 without protocol", wire.call(sync_group.SyncGroupRequest("absent"), 5))


def refused_joins(t: Transcript) -> None:
    """Send JoinGroups with values that no group accepts."""
    t.title("refused joins")
    wire = t.connect("refused")
    request: Any
    for session in (5_999, 1_800_001):
        request = joining("refused", session_timeout_ms=session)
        t.note(f"session {session}", wire.call(request, 9))
    t.note("no protocols", wire.call(joining("refused-1", protocols=[]), 9))
    t.note("no type", wire.call(joining("refused-2", protocol_type=""), 9))
    t.note("unknown member", wire.call(joining("refused-1", "m"), 9))
    t.note("unknown member, static", wire.call(joining("refused-1", "m", group_instance_id="i"), 9))


def alone(t: Transcript) -> None:
    """Let a single member join, sync, commit and leave, in every version."""
    for version in range(10):
        t.title(f"one member, JoinGroup v{version}")
        group = f"alone-{version}"
        wire = t.connect("alone")
        request: Any
        joined = t.note("join", wire.call(joining(group), version))
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            t.note("pending, heartbeat", wire.call(beat(group, 0, joined.member_id), 4))
            t.note("pending, described", wire.call(describing(group), 5))
            joined = t.note("join again", wire.call(joining(group, joined.member_id), version))
        member = joined.member_id
        generation = joined.generation_id
        sync_version = min(version, 5)
        t.note("heartbeat", wire.call(beat(group, generation, member), 3))
        request = committing(group, 1, generation_id_or_member_epoch=generation, member_id=member)
        t.note("commit before sync", wire.call(request, 8))
        t.note("described", wire.call(describing(group), 5))
        request = syncing(group, generation, member, {member: b"all"})
        t.note("sync", wire.call(request, sync_version))
        t.note("sync again", wire.call(syncing(group, generation, member), sync_version))
        t.note("described", wire.call(describing(group), 5))
        request = committing(group, 1, generation_id_or_member_epoch=generation, member_id=member)
        t.note("commit", wire.call(request, 8))
        t.note("leader rejoins", wire.call(joining(group, member), version))
        request = leave_group.LeaveGroupRequest(group_id=group, member_id=member)
        t.note("leave v1", wire.call(request, 1))
        t.note("described", wire.call(describing(group), 5))
        t.note("heartbeat", wire.call(beat(group, generation + 2, member), 4))
        t.note("join with the old id", wire.call(joining(group, member), version))


def _member(t: Transcript, wire: Wire, group: str, **changes: Any) -> str:
    """Return a member id that the broker has assigned."""
    joined = t.note("new", wire.call(joining(group, **changes), 9))
    return str(joined.member_id)


def pair(t: Transcript) -> None:
    """Let two members go through a group's states, and send requests that do not fit the state."""
    t.title("two members")
    group = "pair"
    wire_a, wire_b, admin = t.connect("one"), t.connect("two"), t.connect("admin")
    request: Any
    first = _member(t, wire_a, group, protocols=["range", "sticky"])
    both = ["range", "sticky"]
    joined = t.note("first joins", wire_a.call(joining(group, first, protocols=both), 9))
    t.note("first syncs", wire_a.call(syncing(group, 1, first, {first: b"all"}), 5))
    second = _member(t, wire_b, group, protocols=["range", "roundrobin"])
    wire_b.send(joining(group, second, protocols=["range", "roundrobin"]), 9)
    _until(wire_a, beat(group, 1, first), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.note("heartbeat of first", wire_a.call(beat(group, 1, first), 4))
    t.note("sync of first", wire_a.call(syncing(group, 1, first), 5))
    t.note("described", admin.call(describing(group), 5))
    t.note("old generation", wire_a.call(beat(group, 0, first), 4))
    t.note("foreign member", wire_a.call(beat(group, 1, "x"), 4))
    request = committing(group, 5, generation_id_or_member_epoch=1, member_id=first)
    t.note("commit while preparing", wire_a.call(request, 9))
    request = committing(group, 5)
    t.note("commit from outside", admin.call(request, 9))
    joined = t.note("first rejoins", wire_a.call(joining(group, first, protocols=both), 9))
    t.note("second joined", wire_b.receive())
    protocol = joined.protocol_name
    t.note("described", admin.call(describing(group), 5))
    t.note("first repeats", wire_a.call(joining(group, first, protocols=both), 9))
    t.note("second beats", wire_b.call(beat(group, 2, second), 4))
    request = syncing(group, 2, second, protocol_name="sticky")
    t.note("sync, other protocol", wire_b.call(request, 5))
    request = syncing(group, 2, second, protocol_name=protocol, protocol_type="connect")
    t.note("sync, other type", wire_b.call(request, 5))
    t.note("sync, old generation", wire_b.call(syncing(group, 1, second), 5))
    wire_b.send(syncing(group, 2, second, protocol_name=protocol), 5)
    request = syncing(group, 2, first, {first: b"a", second: b"b"}, protocol_name=protocol)
    t.note("first syncs", wire_a.call(request, 5))
    t.note("second synced", wire_b.receive())
    t.note("described", admin.call(describing(group), 6))
    request = joining(group, second, protocols=["range", "roundrobin"])
    t.note("follower repeats", wire_b.call(request, 9))
    t.note("other type joins", admin.call(joining(group, protocol_type="connect"), 9))
    t.note("other protocol joins", admin.call(joining(group, protocols=["sticky"]), 9))
    t.note("delete", admin.call(delete_groups.DeleteGroupsRequest([group]), 2))
    t.note("offsets of a subscribed topic", admin.call(_deleting(group), 0))
    wire_b.send(
        joining(group, second, protocols=[("range", subscription(TOPIC, "more")), "roundrobin"]), 9
    )
    _until(wire_a, beat(group, 2, first), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.note("first leaves", wire_a.call(leaving(group, (first, None), (first, None)), 5))
    t.note("second leads", wire_b.receive())
    t.note("second leaves", wire_b.call(leaving(group, (second, None), ("", None)), 5))
    t.note("described", admin.call(describing(group), 6))
    t.note("offsets deleted", admin.call(_deleting(group), 0))
    t.note("deleted", admin.call(delete_groups.DeleteGroupsRequest([group, group, "absent"]), 2))
    t.note("described", admin.call(describing(group), 6))


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
    """Replace, fence and remove static members."""
    t.title("static members")
    group = "static"
    wire_a, wire_b, admin = t.connect("one"), t.connect("two"), t.connect("admin")
    request: Any
    joined = t.note("join", wire_a.call(joining(group, group_instance_id="a"), 9))
    first = joined.member_id
    t.note("sync", wire_a.call(syncing(group, 1, first, {first: b"1"}, group_instance_id="a"), 5))
    wire_b.send(joining(group, group_instance_id="b"), 9)
    _until(wire_a, beat(group, 1, first, "a"), 4, ErrorCode.REBALANCE_IN_PROGRESS)
    t.note("leader rejoins", wire_a.call(joining(group, first, group_instance_id="a"), 9))
    second = t.note("second joined", wire_b.receive()).member_id
    shares = {first: b"1", second: b"2"}
    t.note("leader syncs", wire_a.call(syncing(group, 2, first, shares, group_instance_id="a"), 5))
    t.note("second syncs", wire_b.call(syncing(group, 2, second, group_instance_id="b"), 5))
    t.note("described", admin.call(describing(group), 6))
    for version in (7, 9):
        joined = t.note(
            f"second restarts v{version}",
            wire_b.call(joining(group, group_instance_id="b"), version),
        )
        t.note("old second beats", wire_b.call(beat(group, 2, second, "b"), 4))
        t.note("old second, no instance", wire_b.call(beat(group, 2, second), 4))
        request = joining(group, second, group_instance_id="b")
        t.note("old second joins", wire_b.call(request, version))
        t.note("old second syncs", wire_b.call(syncing(group, 2, second, group_instance_id="b"), 5))
        t.note("old second leaves", wire_b.call(leaving(group, (second, "b")), 5))
        request = committing(
            group,
            5,
            generation_id_or_member_epoch=2,
            member_id=second,
            group_instance_id="b",
        )
        t.note("old second commits", wire_b.call(request, 9))
        second = joined.member_id
        t.note("new second syncs", wire_b.call(syncing(group, 2, second, group_instance_id="b"), 5))
    for version in (8, 9):
        joined = t.note(
            f"leader restarts v{version}",
            wire_a.call(joining(group, group_instance_id="a"), version),
        )
        first = joined.member_id
        t.note("new leader syncs", wire_a.call(syncing(group, 2, first, group_instance_id="a"), 5))
        t.note("new leader beats", wire_a.call(beat(group, 2, first, "a"), 4))
    t.note("unknown instance", wire_a.call(beat(group, 2, first, "zz"), 4))
    t.note("described", admin.call(describing(group), 6))
    wire_b.send(joining(group, group_instance_id="b", protocols=["range", "roundrobin"]), 9)
    t.note("more protocols, same choice", wire_b.receive())
    t.note(
        "no common protocol", wire_b.call(joining(group, group_instance_id="b", protocols=["x"]), 9)
    )
    t.note("removed", admin.call(leaving(group, ("", "b"), ("", "zz"), ("", "a")), 5))
    t.note("described", admin.call(describing(group), 6))
    t.note("delete", admin.call(delete_groups.DeleteGroupsRequest([group]), 2))


def crowded(t: Transcript) -> None:
    """Let more members join than `group.max.size` (4)."""
    t.title("too many members")
    group = "crowded"
    wire_a, *others = [t.connect(f"c{n}") for n in range(4)]
    admin = t.connect("admin")
    first = wire_a.call(joining(group), 3).member_id
    wire_a.call(syncing(group, 1, first, {first: b"1"}), 3)
    for wire in others:
        wire.send(joining(group), 3)
    for _ in range(1_000):
        if len(admin.call(describing(group), 5).groups[0].members) == 4:
            break
    t.note("all are there", wire_a.call(joining(group, first), 3).generation_id)
    for wire in others:
        t.note("joined", wire.receive().error_code)
    t.note("an unknown member", admin.call(joining(group, "m"), 9))
    t.note("a stranger", admin.call(joining(group), 9))
    t.note("a stranger v3", admin.call(joining(group), 3))
    t.note("a static stranger", admin.call(joining(group, group_instance_id="s"), 9))


def offsets(t: Transcript) -> None:
    """Commit and fetch offsets, in every version."""
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
        t.note(f"commit v{version}", wire.call(request, version))
    for version in range(1, 11):
        topic_id = t.topic_id if version >= 10 else bytes(16)
        request = fetching(group, [TOPIC], topic_id=topic_id)
        t.note(f"fetch v{version}", wire.call(request, version))
    for version in range(2, 11):
        t.note(f"fetch all v{version}", wire.call(fetching(group, None), version))
    t.note("unknown topic", wire.call(committing(group, 1, topic="no-such-topic"), 9))
    unknown = bytes(range(16))
    t.note("unknown id", wire.call(committing(group, 1, topic_id=unknown), 10))
    t.note("no id", wire.call(committing(group, 1), 10))
    t.note("fetch unknown topic", wire.call(fetching(group, ["no-such-topic"]), 9))
    t.note("fetch unknown id", wire.call(fetching(group, [TOPIC], topic_id=unknown), 10))
    t.note("4096 characters", wire.call(committing(group, 1, metadata="é" * 4096), 9))
    t.note("4097 characters", wire.call(committing(group, 1, metadata="x" * 4097), 9))
    t.note("null metadata", wire.call(committing(group, 1, metadata=None), 9))
    t.note("fetch", wire.call(fetching(group, [TOPIC], require_stable=True), 9))
    request = committing(group, 1, member_id="m")
    t.note("member without generation", wire.call(request, 9))
    request = committing(group, 1, generation_id_or_member_epoch=3, member_id="m")
    t.note("generation of an empty group", wire.call(request, 9))
    t.note("described", wire.call(describing(group), 6))
    t.note("join", wire.call(joining(group), 9))
    t.note("described", wire.call(describing(group), 6))
    t.note("offsets deleted", wire.call(_deleting(group), 0))
    t.note("fetch all", wire.call(fetching(group, None), 9))
    t.note("several groups", wire.call(_several(group, "absent"), 9))
    t.note("no groups", wire.call(_several(), 9))
    t.note("empty group id", wire.call(committing("", 77), 9))
    t.note("empty group id", wire.call(fetching("", [TOPIC]), 9))
    t.note("deleted", wire.call(delete_groups.DeleteGroupsRequest([group, ""]), 2))
    t.note("fetch", wire.call(fetching(group, [TOPIC]), 9))


def _several(*groups: str) -> Any:
    return offset_fetch.OffsetFetchRequest(
        groups=[offset_fetch.OffsetFetchRequestGroup(group, topics=None) for group in groups]
    )


def listing(t: Transcript) -> None:
    """Send ListGroups with its filters."""
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
        t.note(f"v{version} {states} {types}", answer)


def finding(t: Transcript) -> None:
    """Send FindCoordinator in every version."""
    t.title("find coordinator")
    wire = t.connect("finding")
    for version in range(7):
        request = find_coordinator.FindCoordinatorRequest(
            key="offsets", key_type=0, coordinator_keys=["offsets", "", "pair"]
        )
        t.note(f"v{version}", wire.call(request, version))
    for version in (3, 5):
        request = find_coordinator.FindCoordinatorRequest(
            key="x", key_type=2, coordinator_keys=["x"]
        )
        t.note(f"share group v{version}", wire.call(request, version))


CONVERSATIONS = [
    absent_group,
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
    """Create the topic, wait for the coordinator of every group, and return the topic's id."""
    topic = create_topics.CreatableTopic(TOPIC, 2, 1)
    wire.call(create_topics.CreateTopicsRequest([topic], 10_000), 7)
    groups = ["absent", ""]
    for _ in range(600):
        request = find_coordinator.FindCoordinatorRequest(coordinator_keys=groups)
        coordinators = wire.call(request, 4).coordinators
        loaded = wire.call(describing(*groups), 5).groups
        if not any(answer.error_code for answer in [*coordinators, *loaded]):
            break
    topic_request = metadata.MetadataRequest([metadata.MetadataRequestTopic(name=TOPIC)], False)
    return bytes(wire.call(topic_request, 12).topics[0].topic_id)


def converse(connect: Connect, topic_id: bytes) -> list[str]:
    """Run all conversations, one after the other, and return the lines of the transcript."""
    transcript = Transcript(connect)
    transcript.topic_id = topic_id
    for conversation in CONVERSATIONS:
        conversation(transcript)
    return transcript.lines[1:]
