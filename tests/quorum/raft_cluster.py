"""Several Raft cores joined by a network of lists, told what to do by commands of one line.

Each command changes the cluster and prints what its nodes did. Virtual time passes only with
`tick` and `wait`. A fetch that finds nothing new waits at the leader until there is something.

    voters 1 2 3 [observers 4]     make the nodes; nothing starts yet
    static 1 2 3                   the same; the voters tell their directory ids (KIP-853)
    dynamic 1 2 3 [observers 4]    the same, with the voters in the log
    start [1 2]                    start nodes, all by default
    tick 1                         let time pass to the node's deadline, then step it
    wait 500                       let milliseconds pass, stepping whoever's deadline comes
    propose 1 2                    node 1 proposes two records
    flush 1                        node 1's fsync is done, for all it has
    deliver [1 2] [1 2] …          deliver all that is under way, or only 1 → 2, once
    settle                         fsync and deliver until nothing is under way
    drop [1 2] …                   lose all that is under way, or only 1 → 2
    cut 1 / heal 1                 nothing reaches or leaves the node / everything does again
    resign 1                       give up leadership
    add 1 4 [appended]             ask node 1 to add voter 4; the answer follows the commit, or the
                                   append
    remove 1 2                     ask node 1 to remove voter 2
    upgrade 1                      raise kraft.version on node 1
    restart 1                      the node forgets all but its vote and its log
    show                           one line a node
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.leading import voter_records
from controller.raft.log_view import LogView
from controller.raft.quorum_state import ElectionState
from controller.raft.quorum_voters import (
    DYNAMIC_LEVEL,
    KNOWN_KRAFT_VERSIONS,
    QuorumVoters,
    control_records,
)
from controller.raft.raft import Raft
from controller.raft.raft_config import RaftConfig
from controller.voter_set import ReplicaKey, Voter, VoterSet


@dataclass
class Node:
    """One core and what it keeps on disk."""

    id: int
    voters: tuple[int, ...]
    dynamic: bool
    raft: Raft = field(init=False)
    election: ElectionState = field(default_factory=ElectionState)
    batches: list[m.AppendedBatch] = field(default_factory=list)
    deadline_ms: float | None = None
    started: bool = False
    flushed_to: int = 0
    parked: list[m.Received] = field(default_factory=list)

    def log(self) -> LogView:
        """The log as it is found on disk."""
        epochs: list[tuple[int, int]] = []
        for batch in self.batches:
            if not epochs or epochs[-1][0] < batch.epoch:
                epochs.append((batch.epoch, batch.base_offset))
        end = self.batches[-1].next_offset if self.batches else 0
        voters = QuorumVoters(VoterSet() if self.dynamic else VoterSet.of_ids(*self.voters))
        if self.dynamic and self.id in self.voters:
            first = VoterSet(tuple(voter_of(voter) for voter in self.voters))
            voters.snapshot_loaded(0, control_records(DYNAMIC_LEVEL, first))
        for batch in self.batches:
            for record in batch.voter_records:
                voters.appended(record)
        return LogView(EpochIndex(0, end, epochs), voters)


ADMIN = 100
"""Who asks for changes of the voters."""


def key_of(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, node_id.to_bytes(16, "big"))


def voter_of(node_id: int) -> Voter:
    return Voter(key_of(node_id), (), KNOWN_KRAFT_VERSIONS)


def appended_batch(append: m.Append) -> m.AppendedBatch:
    """A leader's batch, with the records that change the voters."""
    change, offset = append.payload, append.base_offset
    if isinstance(change, m.LeaderChange):
        change, offset = change.change, offset + 1
    records = voter_records(offset, change) if isinstance(change, m.VotersChange) else ()
    return m.AppendedBatch(append.epoch, append.base_offset, append.next_offset, records)


class RaftCluster:
    """Nodes, the messages between them, and a clock."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.now_ms = 0.0
        self.under_way: list[tuple[int, int, m.Message, Any]] = []
        self.cut: list[int] = []
        self.lines: list[str] = []
        self._correlation = 0
        self._drawn = 0

    def run(self, command: str) -> str:
        """Carry one line out; what happened, one line each."""
        self.lines = []
        name, *words = command.split()
        getattr(self, f"do_{name}")(*words)
        return "\n".join(self.lines) or "ok"

    # --- commands ------------------------------------------------------------------------------

    def do_voters(self, *words: str) -> None:
        self._make_all(words, dynamic=False)

    def do_static(self, *words: str) -> None:
        self._make_all(words, dynamic=False, described=True)

    def do_dynamic(self, *words: str) -> None:
        self._make_all(words, dynamic=True, described=True)

    def _make_all(self, words: tuple[str, ...], *, dynamic: bool, described: bool = False) -> None:
        ids = words[: words.index("observers")] if "observers" in words else words
        nodes = [int(word) for word in words if word != "observers"]
        for node_id in nodes:
            config = RaftConfig(
                key_of(node_id),
                voter_of(node_id) if described else None,
                bootstrap=tuple(-1 - place for place, _ in enumerate(nodes, 1)) if dynamic else (),
            )
            node = Node(node_id, tuple(map(int, ids)), dynamic)
            node.raft = Raft(config, node.election, node.log(), self._draw(node_id))
            self.nodes[node_id] = node

    def _draw(self, node_id: int) -> Any:
        """No randomness: the higher the id, the later its time-outs; choices go round."""

        def draw(bound: int) -> int:
            if bound > len(self.nodes):
                return min(100 * node_id, bound - 1)
            self._drawn += 1
            return self._drawn % bound

        return draw

    def do_start(self, *ids: str) -> None:
        for node in self._named(ids):
            node.started = True
            self._take(node, node.raft.start(self.now_ms))

    def do_tick(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        assert node.deadline_ms is not None, "the node waits for nothing"
        self.now_ms = max(self.now_ms, node.deadline_ms)
        self._step(node, m.Tick())

    def do_wait(self, duration_ms: str) -> None:
        end = self.now_ms + float(duration_ms)
        while True:
            due = [n for n in self.nodes.values() if n.started and n.deadline_ms is not None]
            due.sort(key=lambda node: (node.deadline_ms, node.id))
            if not due or due[0].deadline_ms > end:  # type: ignore[operator]
                break
            self.do_tick(str(due[0].id))
        self.now_ms = end

    def do_propose(self, node_id: str, count: str) -> None:
        node = self.nodes[int(node_id)]
        self._step(node, m.Propose(node.raft.epoch, int(count), "data"))

    def do_flush(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        node.flushed_to = node.raft.log.end_offset
        self._step(node, m.Flushed(node.flushed_to))

    def do_deliver(self, *words: str) -> None:
        pairs = [(int(a), int(b)) for a, b in zip(words[::2], words[1::2], strict=True)]
        now, self.under_way = self.under_way, []
        for message in now:
            if pairs and message[:2] not in pairs:
                self.under_way.append(message)
            else:
                self._arrive(*message)

    def do_settle(self) -> None:
        for turn in range(100):
            # A node without a leader asks on and on; the network lets it wait in between.
            if turn > 20 and all(isinstance(w[2], m.Fetch | m.EpochReply) for w in self.under_way):
                return
            for node in self.nodes.values():
                if node.started and node.flushed_to < node.raft.log.end_offset:
                    self.do_flush(str(node.id))
            if not self.under_way:
                return
            self.do_deliver()
        raise AssertionError("the cluster does not settle")

    def do_drop(self, *words: str) -> None:
        pairs = [(int(a), int(b)) for a, b in zip(words[::2], words[1::2], strict=True)]
        self.under_way = [w for w in self.under_way if pairs and w[:2] not in pairs]

    def do_cut(self, node_id: str) -> None:
        self.cut.append(int(node_id))

    def do_heal(self, node_id: str) -> None:
        self.cut.remove(int(node_id))

    def do_resign(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        self._step(node, m.Resign(node.raft.epoch))

    def do_restart(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        node.raft = Raft(node.raft.config, node.election, node.log(), self._draw(node.id))
        node.parked = []
        self.under_way = [message for message in self.under_way if node.id not in message[:2]]
        self._take(node, node.raft.start(self.now_ms))
        if node.flushed_to:
            self._step(node, m.Flushed(node.flushed_to))

    def do_add(self, node_id: str, voter: str, when: str = "committed") -> None:
        message = m.AddVoter(voter_of(int(voter)), when == "committed")
        self._ask_for_change(int(node_id), message)

    def do_remove(self, node_id: str, voter: str) -> None:
        self._ask_for_change(int(node_id), m.RemoveVoter(key_of(int(voter))))

    def do_upgrade(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        fault = node.raft.upgrade_fault(DYNAMIC_LEVEL)
        if fault is not None:
            self._say(node, f"does not upgrade: {fault.message}")
        self._step(node, m.UpgradeKraftVersion(node.raft.epoch, DYNAMIC_LEVEL))

    def _ask_for_change(self, node_id: int, message: m.Message) -> None:
        node = self.nodes[node_id]
        self._step(node, m.Received(ADMIN, message, ADMIN))

    def do_show(self) -> None:
        for node in self.nodes.values():
            raft = node.raft
            line = (
                f"{node.id}: {raft.role.value} epoch={raft.epoch} leader={raft.leader_id} "
                f"end={raft.log.end_offset} committed={raft.high_watermark}"
            )
            if raft.voters.is_dynamic:
                line += f" voters={','.join(map(str, raft.voters.latest.ids))}"
            self.lines.append(line)

    # --- effects -------------------------------------------------------------------------------

    def _named(self, ids: tuple[str, ...]) -> list[Node]:
        return [self.nodes[int(i)] for i in ids] or list(self.nodes.values())

    def _step(self, node: Node, event: m.Event) -> None:
        self._take(node, node.raft.step(event, self.now_ms))

    def _take(self, node: Node, ready: m.Ready) -> None:
        node.deadline_ms = ready.deadline_ms
        self._persist_and_append(node, ready)
        for message in ready.send:
            self._send(node, message)
        if ready.high_watermark is not None:
            self._say(node, f"commits up to {ready.high_watermark}")
        if ready.leader is not None:
            self._say(node, f"leader of {ready.leader.epoch} is {ready.leader.leader_id}")
        if ready.append or ready.high_watermark is not None or ready.leader is not None:
            self._wake(node)

    def _persist_and_append(self, node: Node, ready: m.Ready) -> None:
        if ready.persist is not None:
            node.election = state = ready.persist
            vote = "" if state.voted_id is None else f" voted={state.voted_id}"
            self._say(node, f"persists epoch={state.epoch} leader={state.leader_id}{vote}")
        if ready.truncate_to is not None:
            cut = ready.truncate_to
            node.batches = [b for b in node.batches if b.next_offset <= cut]
            node.flushed_to = min(node.flushed_to, cut)
            self._say(node, f"truncates to {cut}")
        for append in ready.append:
            batches = append.payload if append.fetched else None
            new = batches or [appended_batch(append)]
            assert isinstance(new, list | tuple)
            node.batches += new
            what = "fetched" if append.fetched else _shown(append.payload)
            span = f"{append.base_offset}-{append.next_offset - 1}"
            self._say(node, f"appends {span} epoch={append.epoch} {what}")

    def _send(self, node: Node, message: m.Send | m.SendReply) -> None:
        if isinstance(message, m.SendReply):
            self._reply(node, message)
            return
        self._correlation += 1
        if isinstance(message.message, m.Fetch):
            # One fetch is under way at a time, as on a connection.
            self.under_way = [
                w for w in self.under_way if w[0] != node.id or not isinstance(w[2], m.Fetch)
            ]
        else:
            self._say(node, f"asks {message.to} {_shown(message.message)}")
        self.under_way.append((node.id, message.to, message.message, self._correlation))

    def _reply(self, node: Node, message: m.SendReply) -> None:
        answer = message.message
        if message.to == ADMIN:
            assert isinstance(answer, m.VoterReply)
            text = f", {answer.error_message}" if answer.error_message else ""
            self._say(node, f"answers {answer.error.name}{text}")
            return
        if isinstance(answer, m.FetchReply) and answer.read_from is not None:
            start = answer.read_from
            batches = tuple(b for b in node.batches if b.base_offset >= start)
            asker = self.nodes[message.to].raft
            if not batches and asker.high_watermark == answer.high_watermark:
                fetch = message.correlation
                assert isinstance(fetch, m.Received)
                node.parked.append(fetch)
                return
            answer = answer._replace(batches=batches, records=batches)
        elif not isinstance(answer, m.FetchReply):
            self._say(node, f"answers {message.to} {_shown(answer)}")
        elif answer.diverging is not None:
            self._say(node, f"answers {message.to} diverging at {answer.diverging}")
        self.under_way.append((node.id, message.to, answer, None))

    def _wake(self, node: Node) -> None:
        parked, node.parked = node.parked, []
        for event in parked:
            self._step(node, event)

    def _arrive(self, source: int, target: int, message: m.Message, _correlation: Any) -> None:
        if target < 0:
            target = -1 - target  # a bootstrap server
        node = self.nodes[target]
        if source in self.cut or target in self.cut or not node.started:
            return
        if isinstance(message, m.AskVersions):
            self.under_way.append((target, source, m.Versions(KNOWN_KRAFT_VERSIONS), None))
            return
        event = m.Received(source, message)
        if isinstance(message, m.Fetch):
            event = event._replace(correlation=event)
        self._step(node, event)

    def _say(self, node: Node, text: str) -> None:
        self.lines.append(f"{node.id}: {text}")


def _shown(message: object) -> str:
    if isinstance(message, m.Vote):
        kind = "pre-vote" if message.pre_vote else "vote"
        return f"{kind} in {message.epoch} (log {message.last_epoch}:{message.end_offset})"
    if isinstance(message, m.VoteReply):
        kind = "pre-vote" if message.pre_vote else "vote"
        return f"{kind} {'granted' if message.granted else 'refused'} in {message.epoch}"
    if isinstance(message, m.BeginQuorumEpoch):
        return f"begin {message.epoch}"
    if isinstance(message, m.EndQuorumEpoch):
        return f"end {message.epoch}, successors {', '.join(map(str, message.successors))}"
    if isinstance(message, m.EpochReply):
        return f"epoch {message.epoch} leader {message.leader_id}"
    if isinstance(message, m.LeaderChange):
        change = "" if message.change is None else f", {_shown(message.change)}"
        return f"leader change, granted by {', '.join(map(str, message.granting))}{change}"
    if isinstance(message, m.VotersChange):
        level = "" if message.level is None else f"kraft.version {message.level}, "
        return f"{level}voters {', '.join(map(str, message.voters.ids))}"
    if isinstance(message, m.AskVersions):
        return "for its levels"
    if isinstance(message, m.UpdateVoter):
        return f"to update voter {message.voter.key.id}"
    if isinstance(message, m.VoterReply):
        return message.error.name
    return str(message)
