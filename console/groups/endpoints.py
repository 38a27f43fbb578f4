"""The endpoints about groups: the list, a group, its lag over the last hour, and changes.

Groups are listed for each request; lag over time comes from the sampler. A change is first a
preview, and is carried out if the page sends it again with `execute`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.groups.groups import GroupSummary, by_coordinator, check_is_idle, delete, described
from client.groups.many import member_counts
from client.groups.moving import planned
from client.groups.positions import offsets_of, positions, set_offsets
from client.groups.total_lag import TotalLag
from client.operations import operations_on_cluster
from client.places import Place, parse_place
from console.endpoints import Ask, BadAsk, Console, get, post, wall_ms
from console.groups.answers import (
    CommittedPartition,
    DeletedGroup,
    GroupLag,
    GroupList,
    GroupRow,
    GroupShown,
    LagLine,
    MovedGroup,
    MovedPartition,
    Watched,
    WithoutCommit,
)
from console.groups.group_page import facts_of, shown
from console.groups.lag_history import PARTITIONS_MAX, LagHistory
from console.groups.lag_sampler import LagSampler
from console.groups.words import since, terms_of
from ottla.plugins.authorizer import Operation

SPARK_POINTS = 60
PAGE_MAX = 200
LINES_MAX = 12
"""The most partitions that have a line of their own in the chart of a group."""
MOVES_MAX = 10_000
FIRST_SAMPLE_S = 3.0

Listed = Mapping[str, tuple[int, GroupSummary]]
"""The coordinator and the row of each group, by name."""


def _list(console: Console, ask: Ask) -> GroupList:
    """Return a page of the groups whose names contain `q`, ordered by `sort`: lag or name."""
    sampler = console.state(LagSampler)
    sampler.wait_for_first(FIRST_SAMPLE_S)
    first = ask.number("from", 0, least=0)
    count = ask.number("count", 100, least=1, most=PAGE_MAX)
    with console.cluster() as cluster:
        groups = {
            row.group: (node_id, row)
            for node_id, rows in by_coordinator(cluster).items()
            for row in rows
        }
        lags = sampler.read(lambda history: {name: history.lag(name) for name in groups})
        names = _matching(groups, lags, ask.text("q", ""), ask.text("sort", "lag"))
        page = names[first : first + count]
        members = _members_of(cluster, [groups[name] for name in page])
        operations = operations_on_cluster(cluster)
    now_ms = wall_ms()
    rows = sampler.read(
        lambda history: [_row(*groups[name], members.get(name), history, now_ms) for name in page]
    )
    return GroupList(
        groups=rows,
        count=len(names),
        of=len(groups),
        lagging=sum(1 for lag in lags.values() if lag.records),
        states=_counted(row.state for _, row in groups.values()),
        hides_some=operations is not None and Operation.DESCRIBE not in operations,
        watched=_watched(sampler),
    )


def _matching(groups: Listed, lags: Mapping[str, TotalLag], part: str, order: str) -> list[str]:
    """Return the names that contain `part`, the most lag first unless `order` is "name"."""
    names = [name for name in sorted(groups) if part.lower() in name.lower()]
    if order != "name":
        names.sort(key=lambda name: -(lags[name].records or 0))
    return names


def _members_of(cluster: ClusterClient, page: Iterable[tuple[int, GroupSummary]]) -> dict[str, int]:
    """Return the number of members of each group whose members the login may see."""
    rows_by_node: dict[int, list[GroupSummary]] = {}
    for node_id, row in page:
        rows_by_node.setdefault(node_id, []).append(row)
    return member_counts(cluster, rows_by_node)


def _row(
    node_id: int, group: GroupSummary, members: int | None, history: LagHistory, now_ms: int
) -> GroupRow:
    """Return a row of the list."""
    worst, lag = history.worst(group.group), history.lag(group.group)
    return GroupRow(
        group=group.group,
        state=group.state,
        type=group.type.lower() or "classic",
        protocol=group.protocol,
        coordinator=node_id,
        members=members,
        lag=lag.records,
        partitions_without_lag=lag.unknown,
        uncommitted=WithoutCommit(*history.uncommitted(group.group)),
        spark=history.spark(group.group, SPARK_POINTS),
        since_ms=None if worst is None else worst.since_ms,
        since=since(worst, now_ms, terms_of(group.type)),
    )


def _watched(sampler: LagSampler) -> Watched:
    """Return the times of the sampler's samples."""
    times = sampler.read(lambda history: list(history.times[:1]) + list(history.times[-1:]))
    return Watched(
        since_ms=times[0] if times else None,
        last_ms=times[-1] if times else None,
        every_s=round(sampler.every_s, 1),
        error=sampler.error,
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    """Return how often each value occurs, sorted by value."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))


# --- one group -----------------------------------------------------------------------------------


def _show(console: Console, ask: Ask) -> GroupShown:
    """Return the page of a group."""
    sampler = console.state(LagSampler)
    name = ask.text("group")
    with console.cluster() as cluster:
        facts = facts_of(cluster, name, with_operations=console.options.allow_writes)
    behind = sampler.read(lambda history: history.behind(name))
    worst = sampler.read(lambda history: history.worst(name))
    return shown(facts, behind, worst, _watched(sampler), wall_ms())


def _lag(console: Console, ask: Ask) -> GroupLag:
    """Return the last hour of a group: the sum, and the lines of the partitions with most lag."""
    sampler, name = console.state(LagSampler), ask.text("group")

    def lines(history: LagHistory) -> GroupLag:
        """Return the lines from the samples."""
        behind = history.behind(name)
        first = sorted(behind, key=lambda at: (-(behind[at].lag or 0), at))[:LINES_MAX]
        samples = history.history(name, sorted(first))
        return GroupLag(
            times_ms=samples.times_ms,
            total=samples.total,
            partitions=[LagLine(*at, line) for at, line in samples.partitions.items()],
            kept=len(behind),
            kept_most=PARTITIONS_MAX,
        )

    return sampler.read(lines)


# --- moving and removing -------------------------------------------------------------------------


def _reset(console: Console, ask: Ask) -> MovedGroup:
    """Return the new offsets for `{"moves": [{"topic", "partition", "to"}], "execute": false}`;
    commit them if `execute`."""
    name, wanted, execute = ask.text("group"), _wanted(ask.body), bool(ask.body.get("execute"))
    with console.cluster() as cluster:
        group = described(cluster, name)
        check_is_idle(group)
        rows = planned(cluster, offsets_of(positions(cluster, name, group.type)), wanted)
        if execute:
            new_offsets = {(row.topic, row.partition): row.new for row in rows}
            set_offsets(cluster, name, group.type, new_offsets)
    return MovedGroup(execute, [MovedPartition(*row) for row in rows])


def _wanted(body: object) -> dict[Partition, Place]:
    """Return the new place of each partition in the body of a request. Raises BadAsk."""
    moves = body.get("moves") if isinstance(body, dict) else None
    if not isinstance(moves, list) or not moves:
        raise BadAsk("moves: choose at least one partition")
    if len(moves) > MOVES_MAX:
        raise BadAsk(f"moves: at most {MOVES_MAX} partitions at once")
    now_ms = wall_ms()
    places: dict[Partition, Place] = {}
    for move in moves:
        try:
            topic, index, to = str(move["topic"]), int(move["partition"]), str(move["to"])
            places[topic, index] = parse_place(to.strip(), now_ms, "to")
        except (KeyError, TypeError, ValueError, OverflowError):
            raise BadAsk("moves: each needs a topic, a partition and a new position") from None
        except StartError as error:
            raise BadAsk(str(error)) from None
    return places


def _delete(console: Console, ask: Ask) -> DeletedGroup:
    """Return the committed offsets of a group; delete the group with them if `execute`."""
    name = ask.text("group")
    execute = isinstance(ask.body, dict) and bool(ask.body.get("execute"))
    with console.cluster() as cluster:
        group = described(cluster, name)
        check_is_idle(group)
        offsets = offsets_of(positions(cluster, name, group.type))
        if execute:
            delete(cluster, name)
    rows = [CommittedPartition(*at, offset) for at, offset in offsets.items()]
    return DeletedGroup(execute, rows)


ENDPOINTS = (
    get("/api/groups", _list),
    get("/api/group/lag", _lag),
    post("/api/group/reset", _reset),
    post("/api/group/delete", _delete),
    get("/api/group", _show),
)

AT_START = (LagSampler,)
"""The states that begin with the console, so that samples do not wait for a page."""
