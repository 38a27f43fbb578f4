"""Both brokers, and a sequence run on both: the steps side by side, then the state that is left.

Owns the two processes and the two sets of connections. A `Run` says in which step the answers
differed first, and how; what is explained by a row of `differences` is counted and the run goes on,
unless the row says that the two have different state from then on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ottla.testing.broker_process import BrokerProcess
from protocol.errors import ErrorCode
from tests.differential.comparison import Difference, differences
from tests.differential.connection import Outcome, first_readable
from tests.differential.differences import row_of
from tests.differential.matchers import MatchedDifference
from tests.differential.probes import probes_for
from tests.differential.sequence import Sequence, Step
from tests.differential.side import Connections, Sent, Side, Undecodable
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START, kafka_classpath
from tests.tools.kafka_release import RELEASE
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

HELD_S = 0.015
# What an answer lets go comes this soon.
LET_GO_S = 0.003
OTHER_S = 2.0
PATIENCE_S = 30.0
# What both brokers are started with. Nothing may end by itself while a sequence runs.
SETTINGS = {
    "node.id": "1",
    "log.retention.ms": "-1",
    "log.segment.delete.delay.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "auto.create.topics.enable": "true",
    "num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}
# Ottla serves no streams groups.
FEATURES = {"streams.version": 0}


@dataclass
class UnexplainedDifference:
    """An unexplained difference: in which step, and where."""

    step: Step
    index: int
    difference: Difference

    @property
    def signature(self) -> tuple[str, ...]:
        """What makes two findings the same one."""
        one = self.difference
        values = [_kind(value) for value in (one.kafka, one.ottla)]
        return (self.step.api, one.place, *values)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, list) else str(value)[:60]


@dataclass
class Run:
    """What one sequence showed."""

    found: list[UnexplainedDifference] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    ended: int | None = None
    """The step that ended it, before the last."""
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    answers: list[tuple[Step, Any, Any]] = field(default_factory=list)


class Pair:
    """The two brokers."""

    def __init__(self, kafka: Connections, ottla: Connections, *, texts: bool = False) -> None:
        self.kafka = kafka
        self.ottla = ottla
        self._texts = texts
        self._namespaces = int(time.time() * 1000) % 10**9

    def sides(self) -> tuple[Side, Side]:
        self._namespaces += 1
        namespace = f"d{self._namespaces}-"
        return (
            Side(self.kafka, namespace, texts=self._texts),
            Side(self.ottla, namespace, texts=self._texts),
        )

    def run(self, sequence: Sequence, spoil: Any = None) -> Run:
        """The whole sequence. `spoil(step, answer)` may change Ottla's answers: for a test."""
        return _Runner(*self.sides(), spoil).run(sequence)

    def check(self, after: str) -> None:
        """RuntimeError where a broker makes no topics any more: what follows would say nothing."""
        topic = {"name": "~t0", "num_partitions": 1, "replication_factor": 1}
        step = Step(
            "CREATE_TOPICS", 5, {"topics": [topic], "timeout_ms": 5000, "validate_only": True}
        )
        for name, side in zip(("Apache Kafka", "Ottla"), self.sides(), strict=True):
            answer = side.receive(side.send(step))
            if isinstance(answer, Outcome) or answer.topics[0].error_code != 0:
                raise RuntimeError(f"{name} is not well after {after}: {answer}")

    def close(self) -> None:
        self.kafka.close()
        self.ottla.close()


@contextmanager
def both_brokers(release: str = RELEASE, *, texts: bool = False) -> Iterator[Pair]:
    """Start Ottla and Apache Kafka `release`, warm, and stop them."""
    kafka = ApacheKafka(
        jvm_options=FAST_START,
        heap="768m",
        static_voters=True,
        features=FEATURES,
        properties=SETTINGS,
        classpath=kafka_classpath(release),
    )
    controller_port = free_port()
    voters = {"controller.quorum.voters": f"1@{HOST}:{controller_port}"}
    with kafka, BrokerProcess(SETTINGS | voters) as ottla:
        pair = Pair(
            Connections(kafka.port, kafka.controller_port),
            Connections(ottla.port, controller_port),
            texts=texts,
        )
        try:
            warm(pair)
            yield pair
        finally:
            pair.close()


def warm(pair: Pair) -> None:
    """The coordinators' topics exist and serve on both sides."""
    steps = [
        Step("INIT_PRODUCER_ID", 4, {"transactional_id": f"~w{n}", "transaction_timeout_ms": 60000})
        for n in range(12)
    ]
    steps += [Step("OFFSET_FETCH", 6, {"group_id": f"~w{n}", "topics": None}) for n in range(12)]
    for side in pair.sides():
        for kind in (0, 1):
            find = Step("FIND_COORDINATOR", 2, {"key": "~w", "key_type": kind})
            _until_good(side, find)
        for step in steps:
            _until_good(side, step)
        _until_it_has_share_states(side)


def _until_it_has_share_states(side: Side) -> None:
    key = "~w:AAAAAAAAAAAAAAAAAAAAAQ:0"
    find = Step("FIND_COORDINATOR", 6, {"key_type": 2, "coordinator_keys": [key]})

    def is_found() -> bool:
        answer = side.receive(side.send(find))
        # No answer in time: the machine is busy.
        return not isinstance(answer, Outcome) and answer.coordinators[0].error_code == 0

    wait_until(is_found, "a share coordinator")
    topic = {"topic_id": {"$": "topic_id", "of": "nobody"}, "partitions": [{"partition": 0}]}
    body = {"group_id": "~w", "topics": [topic]}
    step = Step("READ_SHARE_GROUP_STATE_SUMMARY", 1, body)

    def is_loaded() -> bool:
        answer = side.receive(side.send(step))
        if isinstance(answer, Outcome):
            return False
        (result,) = answer.results
        error: int = result.partitions[0].error_code
        return error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    wait_until(is_loaded, "a loaded share coordinator")


def _until_good(side: Side, step: Step) -> None:
    wait_until(lambda: side.receive(side.send(step)).error_code == 0, f"a good answer to {step}")


@dataclass(frozen=True, eq=False)
class Pending:
    """A step that both were sent, and whose answers were not taken yet."""

    index: int
    ours: Sent
    theirs: Sent

    def has_come(self, timeout_s: float) -> bool:
        """Whether one of them has."""
        return first_readable([self.ours.connection, self.theirs.connection], timeout_s)


Taken = tuple[Pending, Any, Any]
"""A step with both answers, or what came of them."""


def _names_members(taken: Taken) -> bool:
    _, kafka, ottla = taken
    return any(getattr(answer, "members", None) for answer in (kafka, ottla))


class _Runner:
    """One sequence on both sides."""

    def __init__(self, kafka: Side, ottla: Side, spoil: Any) -> None:
        self._kafka = kafka
        self._ottla = ottla
        self._spoil = spoil or (lambda step, answer: answer)
        self._sent: list[Step] = []
        self._held: list[Pending] = []
        self._run = Run()
        self._over = False

    def run(self, sequence: Sequence) -> Run:
        steps = list(sequence.steps)
        for index, step in enumerate(steps):
            self._step(index, step)
            self._collect(0)
            if self._over:
                self._run.ended = index
                break
        if not self._over and sequence.probes:
            self._probe(len(steps), steps)
        self._end(steps)
        return self._run

    def _step(self, index: int, step: Step) -> None:
        if step.pause_s:
            time.sleep(step.pause_s)
        self._run.asked[step.api, step.version] += 1
        self._sent.append(step)
        ours, theirs = self._kafka.send(step), self._ottla.send(step)
        own = Pending(index, ours, theirs)
        if not step.waits:
            self._compare([own])
        elif own.has_come(HELD_S):
            self._collect(LET_GO_S, own)
        else:
            self._kafka.keep_apart(ours)
            self._ottla.keep_apart(theirs)
            self._held.append(own)

    def _collect(self, timeout_s: float, *others: Pending) -> None:
        """Answers that were held and have come; with those of `others`."""
        come = [one for one in self._held if one.has_come(timeout_s)]
        self._held = [one for one in self._held if one not in come]
        self._compare([*come, *others], OTHER_S)

    def _compare(self, pending: list[Pending], timeout_s: float | None = None) -> None:
        """A leader's answer comes last: it names ids that the others tell, in no order."""
        taken = [self._take(one, timeout_s) for one in pending]
        for one in sorted((one for one in taken if one is not None), key=_names_members):
            self._compare_one(*one)

    def _take(self, one: Pending, timeout_s: float | None) -> Taken | None:
        waited = {} if timeout_s is None else {"timeout_s": timeout_s}
        try:
            kafka = self._kafka.receive(one.ours, **waited)
            ottla = self._ottla.receive(one.theirs, **waited)
            # Where only the other has answered, a busy machine may hold it up.
            if kafka is Outcome.NOTHING is not ottla:
                kafka = self._kafka.receive(one.ours, PATIENCE_S)
            elif ottla is Outcome.NOTHING is not kafka:
                ottla = self._ottla.receive(one.theirs, PATIENCE_S)
            return one, kafka, ottla
        except Undecodable as error:
            difference = Difference("", "decodable", str(error))
            self._run.found.append(UnexplainedDifference(one.ours.step, one.index, difference))
            self._over = True
            return None

    def _compare_one(self, one: Pending, kafka: Any, ottla: Any) -> None:
        step = one.ours.step
        shown = self._spoil(step, self._shown(self._ottla, step, ottla, kafka))
        pair = self._shown(self._kafka, step, kafka, ottla), shown
        self._run.answers.append((step, *pair))
        self._judge(one.index, one.ours, *pair)
        if not self._over:
            sides = (self._kafka, one.ours, kafka), (self._ottla, one.theirs, ottla)
            for side, sent, answer in sides:
                if not isinstance(answer, Outcome):
                    side.rest(sent, answer)

    @staticmethod
    def _shown(side: Side, step: Step, answer: Any, others: Any) -> Any:
        if isinstance(answer, Outcome):
            return answer.value
        if isinstance(others, Outcome):
            return side.comparable.tree_alone(step.api, answer)
        return side.comparable.tree(step.api, answer)

    def _judge(self, index: int, sent: Sent, kafka: Any, ottla: Any) -> None:
        for difference in differences(kafka, ottla):
            met = MatchedDifference(
                sent.step, difference, kafka, ottla, self._run.answers[:-1], self._sent
            )
            row = row_of(met)
            if row is None:
                self._run.found.append(UnexplainedDifference(sent.step, index, difference))
                self._over = True
            else:
                self._run.rows[row.id] += 1
                self._over = self._over or row.parts_ways

    def _probe(self, index: int, steps: list[Step]) -> None:
        self._collect(0)
        for step in probes_for(steps):
            self._step(index, step)
            if self._over:
                return

    def _end(self, steps: list[Step]) -> None:
        names = sorted(_topics_of(self._kafka) | _topics_of(self._ottla))
        for side in (self._kafka, self._ottla):
            side.end(names)


def _topics_of(side: Side) -> set[str]:
    named = {name for kind, name in side.learned if kind == "topic_id"}
    return {name for name in named if name.startswith(side.namespace)}
