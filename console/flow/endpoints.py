"""The endpoints of the page "How a record flows": local nodes, their traces, and a test record.

Traces come from the trace sockets of nodes whose log directories `--data` names. A trace is shown
if the console's login may describe its topics. The sockets are read only while a tab is open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker.config.start_error import StartError
from console.endpoints import Ask, Console, get, post, stream, wall_ms
from console.flow import sending, trace_reader
from console.flow.trace_reader import HOW_TO, NodeTraces, NoTraces
from console.flow.traces import CopiesWanted, Json, seen_traces
from console.segments.endpoints import SegmentsView
from controller.metadata.topic_names import is_internal

LOOK_S = 0.4
"""The pause between two reads of the trace sockets."""
TOPICS_MAX = 2_000


class FlowView:
    """The nodes whose log directories are on this machine, with access to their traces."""

    def __init__(
        self, console: Console, ask: Callable[[str, int], NodeTraces] = trace_reader.ask
    ) -> None:
        """Create the view. `ask(folder, since)` has the contract of `trace_reader.ask`."""
        segments = console.state(SegmentsView)
        self._disk, self._rights = segments.disk, segments.rights
        self._ask = ask

    def folders(self) -> dict[int, list[str]]:
        """Return the paths of the local log directories by node id. Raises StartError."""
        paths: dict[int, list[str]] = {}
        for directory in self._disk.directories():
            paths.setdefault(directory.node_id, []).append(directory.path)
        return paths

    def why_none(self) -> str:
        """Return a line that says why there are no local log directories, and what to do."""
        return self._disk.why_none()

    def may_describe(self, topic: str) -> bool:
        """Return whether the console's login may describe the topic. Raises StartError."""
        return self._rights.on(topic).describe

    def news(self, folders: list[str], since: int) -> NodeTraces:
        """Return what changed at a node after the revision `since`.

        `folders` are the node's log directories; the first that has a trace socket is used. Raises
        NoTraces if none has.
        """
        why = NoTraces(HOW_TO)
        for folder in folders:
            try:
                answer = self._ask(folder, since)
                # A restarted broker counts its revisions from 0 again.
                return answer if answer.revision >= since else self._ask(folder, 0)
            except NoTraces as error:
                if str(error) != HOW_TO:
                    why = error
        raise why


@dataclass(frozen=True, slots=True)
class TracingNode:
    """A node with a local log directory. `why` is the reason if it sends no traces, else None."""

    node: int
    why: str | None


@dataclass(frozen=True, slots=True)
class FlowNews:
    """New traces and followers' copies in the form of the brokers, and the state of each node."""

    nodes: list[TracingNode]
    traces: list[Json]
    copies: list[Json]


@dataclass(frozen=True, slots=True)
class FlowFailed:
    """An event of the stream while no broker answers."""

    error: str


@dataclass(frozen=True, slots=True)
class FlowTopic:
    """A topic to which the page can send a test record; `replicas` is its replication factor."""

    name: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class FlowStart:
    """The local nodes and the topics of the page. `why` is the reason if `nodes` is empty."""

    why: str | None
    nodes: list[int]
    brokers: int
    topics: list[FlowTopic]


class TabStream:
    """The stream of one open tab: it remembers what the tab has received."""

    def __init__(self, view: FlowView) -> None:
        self._view = view
        self._since: dict[int, int] = {}
        self._copies = CopiesWanted()
        self._nodes: list[TracingNode] | None = None

    def next(self) -> FlowNews | None:
        """Return what is new since the last call, None if nothing is. Raises StartError."""
        view = self._view
        traces: list[Json] = []
        copies: list[tuple[int, Json]] = []
        nodes: list[TracingNode] = []
        for node_id, folders in view.folders().items():
            try:
                answer = view.news(folders, self._since.get(node_id, 0))
            except NoTraces as error:
                nodes.append(TracingNode(node_id, str(error)))
                continue
            nodes.append(TracingNode(node_id, None))
            self._since[node_id] = answer.revision
            traces += seen_traces(node_id, answer.traces, view.may_describe)
            copies += [(node_id, copy) for copy in answer.copies]
        self._copies.add(traces)
        fitting = self._copies.matching(copies)
        if nodes == self._nodes and not traces and not fitting:
            return None
        self._nodes = nodes
        return FlowNews(nodes, traces, fitting)


def _start(console: Console, _ask: Ask) -> FlowStart:
    """Return the local nodes, and up to TOPICS_MAX topics for a test record."""
    view = console.state(FlowView)
    with console.cluster() as cluster:
        metadata = cluster.metadata(None)
    topics = [
        FlowTopic(
            topic.name,
            len(topic.partitions),
            max((len(part.replica_nodes) for part in topic.partitions), default=0),
        )
        for topic in metadata.topics
        if topic.name and not topic.error_code and not is_internal(topic.name)
    ]
    topics.sort(key=lambda topic: topic.name)
    nodes = view.folders()
    return FlowStart(
        why=None if nodes else view.why_none(),
        nodes=sorted(nodes),
        brokers=len(metadata.brokers),
        topics=topics[:TOPICS_MAX],
    )


def _live(console: Console, _ask: Ask) -> Iterator[FlowNews | FlowFailed | None]:
    tab = TabStream(console.state(FlowView))
    while True:
        try:
            yield tab.next()
        except StartError as error:
            yield FlowFailed(str(error))
        time.sleep(LOOK_S)


def _send(console: Console, ask: Ask) -> sending.SentRecord:
    return sending.send(console.own_cluster, sending.record_of(ask.body), wall_ms())


ENDPOINTS = (
    get("/api/flow", _start),
    stream("/api/flow/live", _live),
    post("/api/flow/records", _send),
)
