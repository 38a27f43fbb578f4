"""What the page asks about groups: a list, one group, its lag over the last hour, and moving it.

Groups are listed anew each time; lag comes from the sampler's last look. What moves or removes a
group is planned first: the page shows the plan, and sends it back to have it done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.groups import GroupDescription, MemberDescription
from client.core.leaders import Partition
from client.groups.committed import commit_offsets, committed_offsets
from client.groups.groups import (
    GroupSummary,
    Standing,
    by_coordinator,
    check_is_idle,
    delete,
    described,
    standings,
)
from client.groups.many import WITHOUT_OFFSETS, member_counts
from client.groups.moving import planned
from client.groups.total_lag import total_lag
from client.groups.unread import next_record_times
from client.places import Place, parse_place
from console.endpoints import Ask, BadAsk, Console, get, post, wall_ms
from console.groups.answers import (
    CommittedPartition,
    DeletedGroup,
    GroupLag,
    GroupList,
    GroupMember,
    GroupPartition,
    GroupRow,
    GroupShown,
    LagLine,
    MovedGroup,
    MovedPartition,
    Watched,
)
from console.groups.lag_history import PARTITIONS_MAX, Behind, LagHistory
from console.groups.lag_sampler import LagSampler
from console.groups.words import lasting, since

SPARK_POINTS = 60
PAGE_MAX = 200
LINES_MAX = 12
"""Partitions with a line of their own in the chart of a group."""
UNREAD_MAX = 8
"""Partitions of which the record is looked at that the group hangs on."""
FRESH_MS = 10_000
"""A record that waits for less is on its way."""
MOVES_MAX = 10_000
FIRST_LOOK_S = 3.0


def _list(console: Console, ask: Ask) -> GroupList:
    """A page of the groups whose names have `q`, by `sort`: lag or name."""
    sampler = console.state(LagSampler)
    sampler.wait_for_first(FIRST_LOOK_S)
    wanted, by_name = ask.text("q", "").lower(), ask.text("sort", "lag") == "name"
    first = ask.number("from", 0, least=0)
    count = ask.number("count", 100, least=1, most=PAGE_MAX)
    with console.cluster() as cluster:
        every = {
            one.group: (node_id, one)
            for node_id, listed in by_coordinator(cluster).items()
            for one in listed
        }
        lags = sampler.read(lambda history: {name: history.lag(name) for name in every})
        names = [name for name in sorted(every) if wanted in name.lower()]
        if not by_name:
            names.sort(key=lambda name: -(lags[name].records or 0))
        page = names[first : first + count]
        members = _members_of(cluster, [every[name] for name in page])
    now_ms = wall_ms()
    rows = sampler.read(
        lambda history: [
            _row(every[name][1], every[name][0], members.get(name), history, now_ms)
            for name in page
        ]
    )
    return GroupList(
        groups=rows,
        count=len(names),
        of=len(every),
        lagging=sum(1 for lag in lags.values() if lag.records),
        states=_counted(one.state for _, one in every.values()),
        watched=_watched(sampler),
    )


def _members_of(cluster: ClusterClient, page: Iterable[tuple[int, GroupSummary]]) -> dict[str, int]:
    """None known where the login may not describe groups."""
    by_node: dict[int, list[GroupSummary]] = {}
    for node_id, one in page:
        by_node.setdefault(node_id, []).append(one)
    return member_counts(cluster, by_node)


def _row(
    one: GroupSummary, node_id: int, members: int | None, history: LagHistory, now_ms: int
) -> GroupRow:
    worst, lag = history.worst(one.group), history.lag(one.group)
    return GroupRow(
        group=one.group,
        state=one.state,
        type=one.type.lower() or "classic",
        protocol=one.protocol,
        coordinator=node_id,
        members=members,
        lag=None if one.type.lower() in WITHOUT_OFFSETS else lag.records,
        partitions_without_lag=lag.unknown,
        spark=history.spark(one.group, SPARK_POINTS),
        since_ms=None if worst is None else worst.since_ms,
        since=since(worst, now_ms),
    )


def _watched(sampler: LagSampler) -> Watched:
    times = sampler.read(lambda history: list(history.times[:1]) + list(history.times[-1:]))
    return Watched(
        since_ms=times[0] if times else None,
        last_ms=times[-1] if times else None,
        every_s=round(sampler.every_s, 1),
        error=sampler.error,
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in values:
        found[one] = found.get(one, 0) + 1
    return dict(sorted(found.items()))


# --- one group -----------------------------------------------------------------------------------


def _show(console: Console, ask: Ask) -> GroupShown:
    """A group with its members, and each of its partitions."""
    sampler = console.state(LagSampler)
    name = ask.text("group")
    with console.cluster() as cluster:
        listed = {one.group: one for some in by_coordinator(cluster).values() for one in some}
        if name in listed and listed[name].type.lower() in WITHOUT_OFFSETS:
            return _without_offsets(listed[name])
        group = described(cluster, name)
        rows = standings(cluster, group)
        late = sorted((one for one in rows if one.lag), key=lambda one: -(one.lag or 0))
        unread = _unread(cluster, late[:UNREAD_MAX])
    behind = sampler.read(lambda history: history.behind(name))
    worst = sampler.read(lambda history: history.worst(name))
    readers = _readers(group)
    lag = total_lag(one.lag for one in rows)
    now_ms = wall_ms()
    return GroupShown(
        group=group.name,
        type=group.type,
        state=group.state,
        assignor=group.assignor,
        coordinator=group.coordinator,
        epoch=group.epoch,
        target_epoch=group.target_epoch,
        lag=lag.records,
        partitions_without_lag=lag.unknown,
        since=_of_group(rows, worst, unread, now_ms),
        members=[_member(one) for one in group.members],
        partitions=[_partition(one, readers, behind, unread, now_ms) for one in rows],
        watched=_watched(sampler),
    )


def _without_offsets(one: GroupSummary) -> GroupShown:
    return GroupShown(
        group=one.group,
        type=one.type.lower(),
        state=one.state,
        members=[],
        partitions=[],
        unserved="a share group has no committed offsets, so the console cannot show a lag",
    )


def _unread(cluster: ClusterClient, late: Sequence[Standing]) -> dict[Partition, int]:
    """When the record was written that each of these reads next, as far as it may be read."""
    places = {(one.topic, one.partition): one.committed for one in late}
    topics = {
        one.name or "": one
        for one in cluster.metadata(list(dict.fromkeys(name for name, _ in places))).topics
        if not one.error_code
    }
    wanted = {at: offset for at, offset in places.items() if offset is not None}
    return next_record_times(cluster, topics, wanted) if wanted else {}


def _of_group(
    rows: Sequence[Standing],
    worst: Behind | None,
    unread: Mapping[Partition, int],
    now_ms: int,
) -> str:
    """In words: what the whole group does, and how old the record is that waits for longest."""
    if not any(one.lag for one in rows):
        return _of_no_lag(rows)
    said = since(worst, now_ms)
    oldest = min(unread.values(), default=None)
    if oldest is None or now_ms - oldest < FRESH_MS:
        return said
    waits = f"its oldest unread record was written {{{oldest}}}, {lasting(now_ms - oldest)} ago"
    return f"{said}; {waits}" if said else waits


def _of_no_lag(rows: Sequence[Standing]) -> str:
    """Return what a group does that is known to lag nowhere."""
    if all(one.committed is None for one in rows):
        return "has no committed offsets"
    if any(one.lag is None for one in rows):
        return "has read all records of the partitions whose lag is known"
    return "has read all records"


def _partition(
    one: Standing,
    readers: Mapping[Partition, int],
    behind: Mapping[Partition, Behind],
    unread: Mapping[Partition, int],
    now_ms: int,
) -> GroupPartition:
    at = (one.topic, one.partition)
    known = behind.get(at)
    # The row is newer than the sampler's last look: what has read everything by now is not late.
    words = "" if known is None or one.lag == 0 else since(known, now_ms)
    return GroupPartition(
        topic=one.topic,
        partition=one.partition,
        committed=one.committed,
        end=one.end,
        lag=one.lag,
        reader=readers.get(at),
        since=words,
        late=bool(one.lag and known and known.since_ms is not None),
        since_ms=known.since_ms if one.lag and known else None,
        unread_ms=unread.get(at),
    )


def _readers(group: GroupDescription) -> dict[Partition, int]:
    """By partition, the number of the member that reads it."""
    return {at: index for index, one in enumerate(group.members) for at in one.partitions}


def _member(one: MemberDescription) -> GroupMember:
    return GroupMember(
        id=one.member_id,
        name=one.name,
        host=one.host,
        instance=one.instance_id,
        protocol=one.protocol,
        epoch=one.epoch,
        partitions=sorted(one.partitions),
        target=None if one.target is None else sorted(one.target),
    )


def _lag(console: Console, ask: Ask) -> GroupLag:
    """The last hour of a group: the sum, and the lines of those partitions that lag most."""
    sampler, name = console.state(LagSampler), ask.text("group")

    def lines(history: LagHistory) -> GroupLag:
        behind = history.behind(name)
        first = sorted(behind, key=lambda at: (-(behind[at].lag or 0), at))[:LINES_MAX]
        found = history.history(name, sorted(first))
        return GroupLag(
            times_ms=found.times_ms,
            total=found.total,
            partitions=[LagLine(*at, line) for at, line in found.partitions.items()],
            kept=len(behind),
            kept_most=PARTITIONS_MAX,
        )

    return sampler.read(lines)


# --- moving and removing -------------------------------------------------------------------------


def _reset(console: Console, ask: Ask) -> MovedGroup:
    """`{"moves": [{"topic", "partition", "to"}], "execute": false}`: where the group would go on;
    with `execute` it goes on there."""
    name, wanted, execute = ask.text("group"), _wanted(ask.body), bool(ask.body.get("execute"))
    with console.cluster() as cluster:
        check_is_idle(described(cluster, name))
        committed = committed_offsets(cluster, name)
        rows = planned(cluster, committed, wanted)
        if execute:
            commit_offsets(cluster, name, {(one.topic, one.partition): one.new for one in rows})
    return MovedGroup(execute, [MovedPartition(*one) for one in rows])


def _wanted(body: object) -> dict[Partition, Place]:
    moves = body.get("moves") if isinstance(body, dict) else None
    if not isinstance(moves, list) or not moves:
        raise BadAsk("moves: choose at least one partition")
    if len(moves) > MOVES_MAX:
        raise BadAsk(f"moves: at most {MOVES_MAX} partitions at once")
    now_ms = wall_ms()
    found: dict[Partition, Place] = {}
    for one in moves:
        try:
            topic, index, to = str(one["topic"]), int(one["partition"]), str(one["to"])
            found[topic, index] = parse_place(to.strip(), now_ms, "to")
        except (KeyError, TypeError, ValueError):
            raise BadAsk("moves: each needs a topic, a partition and a new position") from None
        except StartError as error:
            raise BadAsk(str(error)) from None
    return found


def _delete(console: Console, ask: Ask) -> DeletedGroup:
    """`{"execute": false}`: what the group has committed, which goes with it."""
    name = ask.text("group")
    execute = isinstance(ask.body, dict) and bool(ask.body.get("execute"))
    with console.cluster() as cluster:
        check_is_idle(described(cluster, name))
        committed = committed_offsets(cluster, name)
        if execute:
            delete(cluster, name)
    rows = [CommittedPartition(*at, offset) for at, offset in committed.items()]
    return DeletedGroup(execute, rows)


ENDPOINTS = (
    get("/api/groups", _list),
    get("/api/group/lag", _lag),
    post("/api/group/reset", _reset),
    post("/api/group/delete", _delete),
    get("/api/group", _show),
)

AT_START = (LagSampler,)
"""States that look at the cluster before anybody asks."""
