"""What the page asks about how a record flows: which nodes tell of it, what they tell, and to send
one.

Traces come from the sockets of nodes whose log directories `--data` names, and are shown of topics
that the console's login may describe. While no tab is open, nobody is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker.config.start_error import StartError
from console.endpoints import Ask, Console, get, post, stream, wall_ms
from console.flow import sending, trace_reader
from console.flow.trace_reader import HOW_TO, NoTraces, Told
from console.flow.traces import CopiesWanted, Json, seen_traces
from console.segments.endpoints import SegmentsView
from controller.metadata.topic_names import is_internal

LOOK_S = 0.4
TOPICS_MAX = 2_000


class FlowView:
    """Which nodes of this machine have log directories here, and what they tell."""

    def __init__(
        self, console: Console, ask: Callable[[str, int], Told] = trace_reader.ask
    ) -> None:
        """`ask(folder, since)` as `trace_reader.ask`."""
        segments = console.state(SegmentsView)
        self._disk, self._rights = segments.disk, segments.rights
        self._ask = ask

    def folders(self) -> dict[int, list[str]]:
        """Log directories by node, as far as they are here. Raises StartError."""
        found: dict[int, list[str]] = {}
        for one in self._disk.directories():
            found.setdefault(one.node_id, []).append(one.path)
        return found

    def why_none(self) -> str:
        """Where there are none."""
        return self._disk.why_none()

    def may_describe(self, topic: str) -> bool:
        """Whether the console's login may. Raises StartError."""
        return self._rights.on(topic).describe

    def news(self, folders: list[str], since: int) -> Told:
        """Of a node: by the first of its directories that has a socket. Raises NoTraces."""
        why = NoTraces(HOW_TO)
        for folder in folders:
            try:
                told = self._ask(folder, since)
                # One that was started anew counts anew.
                return told if told.revision >= since else self._ask(folder, 0)
            except NoTraces as error:
                if str(error) != HOW_TO:
                    why = error
        raise why


@dataclass(frozen=True, slots=True)
class TracingNode:
    """A node whose log directory is here; `why` it tells nothing."""

    node: int
    why: str | None


@dataclass(frozen=True, slots=True)
class FlowNews:
    """What the nodes tell that is new: traces and followers' copies as brokers write them."""

    nodes: list[TracingNode]
    traces: list[Json]
    copies: list[Json]


@dataclass(frozen=True, slots=True)
class FlowFailed:
    """No broker answers just now."""

    error: str


@dataclass(frozen=True, slots=True)
class FlowTopic:
    """A topic that a record may be sent to."""

    name: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class FlowStart:
    """Which nodes may tell something; `why` there are none."""

    why: str | None
    nodes: list[int]
    brokers: int
    topics: list[FlowTopic]


class Look:
    """One tab that looks."""

    def __init__(self, view: FlowView) -> None:
        self._view = view
        self._since: dict[int, int] = {}
        self._copies = CopiesWanted()
        self._nodes: list[TracingNode] | None = None

    def again(self) -> FlowNews | None:
        """What is new since the last look; None: nothing. Raises StartError."""
        view = self._view
        traces: list[Json] = []
        copies: list[tuple[int, Json]] = []
        nodes: list[TracingNode] = []
        for node_id, folders in view.folders().items():
            try:
                told = view.news(folders, self._since.get(node_id, 0))
            except NoTraces as error:
                nodes.append(TracingNode(node_id, str(error)))
                continue
            nodes.append(TracingNode(node_id, None))
            self._since[node_id] = told.revision
            traces += seen_traces(node_id, told.traces, view.may_describe)
            copies += [(node_id, one) for one in told.copies]
        self._copies.add(traces)
        fitting = self._copies.of(copies)
        if nodes == self._nodes and not traces and not fitting:
            return None
        self._nodes = nodes
        return FlowNews(nodes, traces, fitting)


def _start(console: Console, _ask: Ask) -> FlowStart:
    """Whether there is anything to see here, and topics that a record may be sent to."""
    view = console.state(FlowView)
    with console.cluster() as cluster:
        metadata = cluster.metadata(None)
    topics = [
        FlowTopic(
            one.name,
            len(one.partitions),
            max((len(part.replica_nodes) for part in one.partitions), default=0),
        )
        for one in metadata.topics
        if one.name and not one.error_code and not is_internal(one.name)
    ]
    topics.sort(key=lambda one: one.name)
    nodes = view.folders()
    return FlowStart(
        why=None if nodes else view.why_none(),
        nodes=sorted(nodes),
        brokers=len(metadata.brokers),
        topics=topics[:TOPICS_MAX],
    )


def _live(console: Console, _ask: Ask) -> Iterator[FlowNews | FlowFailed | None]:
    look = Look(console.state(FlowView))
    while True:
        try:
            yield look.again()
        except StartError as error:
            yield FlowFailed(str(error))
        time.sleep(LOOK_S)


def _send(console: Console, ask: Ask) -> sending.SentRecord:
    return sending.send(console.own_cluster, sending.asked(ask.body), wall_ms())


ENDPOINTS = (
    get("/api/flow", _start),
    stream("/api/flow/live", _live),
    post("/api/flow/records", _send),
)
