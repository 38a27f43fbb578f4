"""What the driver asks a cluster, and how it says that there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Uuid

from pipeline import topics
from pipeline.errors import PipelineError, Unreachable
from pipeline.spark.connection import Connection
from pipeline.topics import Cluster, Offsets, Position, id_text


class Made:
    """The future of one topic."""

    def __init__(self, error: KafkaError | None) -> None:
        self._error = error

    def result(self, _: float) -> None:
        if self._error is not None:
            raise KafkaException(self._error)


class Admin:
    """A cluster of `alive` brokers with topics; new ones are led when they are seen once more."""

    def __init__(self, alive: int, there: dict[str, int]) -> None:
        self.alive, self.there = alive, dict(there)
        self.new: Any = None
        self.refuses: KafkaError | None = None
        self.looks = 0

    def list_topics(self, timeout: float) -> Any:
        self.looks += 1
        leaders = dict.fromkeys(self.there, -1 if self.new and self.looks == 3 else 1)
        found = {
            name: SimpleNamespace(
                partitions={one: SimpleNamespace(leader=leaders[name]) for one in range(number)}
            )
            for name, number in self.there.items()
        }
        return SimpleNamespace(
            cluster_id="id", brokers=dict.fromkeys(range(self.alive)), topics=found
        )

    def create_topics(self, new: list[Any]) -> dict[str, Made]:
        (self.new,) = new
        self.there[self.new.topic] = self.new.num_partitions
        return {self.new.topic: Made(self.refuses)}


def cluster_with(monkeypatch: pytest.MonkeyPatch, admin: Admin) -> Cluster:
    monkeypatch.setattr(topics, "AdminClient", lambda _: admin)
    return Cluster(Connection("kafka:9092"))


def test_a_topic_that_is_missing_is_named_with_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_with(monkeypatch, Admin(1, {"cdr": 2, "__consumer_offsets": 50}))
    assert cluster.partitions("cdr") == [0, 1]
    with pytest.raises(PipelineError, match=r"no topic nope at kafka:9092 \(there: cdr\): name"):
        cluster.partitions("nope")
    many = cluster_with(monkeypatch, Admin(1, {f"t{n}": 1 for n in range(9)}))
    with pytest.raises(PipelineError, match=r"t7 …\)"):
        many.partitions("nope")
    none = cluster_with(monkeypatch, Admin(1, {}))
    with pytest.raises(PipelineError, match=r"\(there: none\)"):
        none.partitions("nope")


@pytest.mark.parametrize(("alive", "replicas"), [(1, 1), (2, 2), (5, 3)])
def test_a_new_topic_has_up_to_three_replicas_and_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, alive: int, replicas: int
) -> None:
    admin = Admin(alive, {"old": 1})
    cluster = cluster_with(monkeypatch, admin)
    assert cluster.ensure("old", 6) is False and admin.new is None
    admin.looks = 0
    assert cluster.ensure("new", 6, {"cleanup.policy": "compact"}) is True
    assert (admin.new.num_partitions, admin.new.replication_factor) == (6, replicas)
    assert admin.looks == 4, "asked again while it had no leader"


def test_a_topic_that_the_cluster_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Admin(1, {})
    admin.refuses = KafkaError(KafkaError.POLICY_VIOLATION)
    with pytest.raises(PipelineError, match="topic new was not made: "):
        cluster_with(monkeypatch, admin).ensure("new", 1)


class Listing(Admin):
    """A cluster whose leaders answer ListOffsets: `logs` has start, last stable offset, high
    watermark and leader epoch of each partition. `failures` come before the answers."""

    def __init__(self, logs: dict[int, tuple[int, int, int, int]], *failures: KafkaError) -> None:
        super().__init__(1, {"cdr": len(logs)})
        self.logs = logs
        self.failures = list(failures)
        self.asked: list[list[int]] = []

    def list_offsets(
        self, asked: dict[Any, Any], isolation_level: Any, request_timeout: float
    ) -> dict[Any, Any]:
        self.asked.append(sorted(place.partition for place in asked))
        return {place: self._answer(place, spec, isolation_level) for place, spec in asked.items()}

    def _answer(self, place: Any, spec: Any, isolation_level: Any) -> Any:
        start, stable, high, epoch = self.logs[place.partition]
        is_committed = isolation_level == IsolationLevel.READ_COMMITTED
        offset = start if spec is topics._EARLIEST else stable if is_committed else high
        failure = self.failures.pop(0) if self.failures else None

        def result() -> Any:
            if failure is not None:
                raise KafkaException(failure)
            return SimpleNamespace(offset=offset, leader_epoch=epoch)

        return SimpleNamespace(result=result)


def test_offsets_wait_out_an_election(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_RETRY_S", 0)
    no_leader = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    admin = Listing({0: (3, 9, 12, 5), 1: (0, 2, 2, -1)}, no_leader)
    offsets = cluster_with(monkeypatch, admin).offsets("cdr")
    assert offsets == {0: Offsets(3, 9), 1: Offsets(0, 2)}
    assert [(one.high_watermark, one.leader_epoch) for one in offsets.values()] == [
        (12, 5),
        (2, None),
    ]
    assert admin.asked == [[0, 1], [0], [0, 1], [0, 1]], "again of the one without a leader"
    uncommitted = Connection("kafka:9092", {"kafka.isolation.level": "read_uncommitted"})
    monkeypatch.setattr(topics, "AdminClient", lambda _: admin)
    assert Cluster(uncommitted).offsets("cdr") == {0: Offsets(3, 12), 1: Offsets(0, 2)}


@pytest.mark.parametrize(
    ("code", "is_away"),
    [
        (KafkaError.LEADER_NOT_AVAILABLE, True),
        (KafkaError._TIMED_OUT, True),
        (KafkaError.INVALID_REQUEST, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
def test_a_leader_that_does_not_answer_is_away_and_one_that_refuses_is_not(
    monkeypatch: pytest.MonkeyPatch, code: int, is_away: bool
) -> None:
    admin = Listing({0: (0, 1, 1, 0)}, *[KafkaError(code)] * 9)
    monkeypatch.setattr(topics, "AdminClient", lambda _: admin)
    with pytest.raises(PipelineError, match="partition cdr-0 does not answer") as raised:
        Cluster(Connection("kafka:9092"), timeout_s=0).offsets("cdr")
    assert isinstance(raised.value, Unreachable) == is_away


class Validating:
    """A consumer whose client says `events` of the positions that it was assigned."""

    events: ClassVar[list[Any]] = []
    given: ClassVar[list[Any]] = []

    def __init__(self, settings: dict[str, Any]) -> None:
        assert settings["auto.offset.reset"] == "error"

    def assign(self, places: list[Any]) -> None:
        Validating.given = [(one.partition, one.offset, one.leader_epoch) for one in places]

    def poll(self, _: float) -> Any:
        return Validating.events.pop(0) if Validating.events else None

    def close(self) -> None:
        pass


def event(partition: int, code: int | None) -> Any:
    error = None if code is None else KafkaError(code)
    return SimpleNamespace(partition=lambda: partition, error=lambda: error)


def test_logs_that_were_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "Consumer", Validating)
    admin = Listing({0: (0, 9, 9, 5), 1: (0, 9, 9, 5), 2: (0, 9, 9, 5), 3: (8, 9, 9, 5)})
    cluster = cluster_with(monkeypatch, admin)
    positions = {one: Position(7, 4) for one in range(4)}
    reset = KafkaError._AUTO_OFFSET_RESET
    Validating.events = [
        event(0, KafkaError._PARTITION_EOF),
        event(1, KafkaError._TRANSPORT),
        event(2, reset),
        None,
        event(3, reset),  # retention: the log begins at 8 now
        event(1, None),
    ]
    assert cluster.cut_off("cdr", positions) == [2]
    assert Validating.given == [(one, 7, 4) for one in range(4)]
    Validating.events = [event(one, KafkaError._PARTITION_EOF) for one in range(4)]
    admin.asked.clear()
    assert cluster.cut_off("cdr", positions) == [] and admin.asked == []


def test_a_log_of_which_no_leader_tells_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "Consumer", Validating)
    monkeypatch.setattr(topics, "AdminClient", lambda _: Listing({0: (0, 9, 9, 5)}))
    cluster = Cluster(Connection("kafka:9092"), timeout_s=0)
    Validating.events = [event(0, KafkaError._TRANSPORT)]
    with pytest.raises(Unreachable, match="partition cdr-0 does not answer"):
        cluster.cut_off("cdr", {0: Position(7, 4)})
    Validating.events = [event(0, KafkaError.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(PipelineError, match="topic cdr cannot be read") as raised:
        cluster.cut_off("cdr", {0: Position(7, 4)})
    assert not isinstance(raised.value, Unreachable)


def test_the_first_offset_from_a_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [KafkaException(KafkaError(KafkaError._TIMED_OUT))]

    class Consumer:
        def __init__(self, settings: dict[str, Any]) -> None:
            pass

        def offsets_for_times(self, asked: Any, timeout: float) -> Any:
            if failing:
                raise failing.pop()
            assert [one.offset for one in asked] == [7, 7]
            asked[1].offset = 3
            asked[0].offset = -1  # there is none
            return asked

        def close(self) -> None:
            pass

    monkeypatch.setattr(topics, "Consumer", Consumer)
    cluster = cluster_with(monkeypatch, Admin(1, {"cdr": 2}))
    with pytest.raises(PipelineError, match="no broker says when the records of cdr were written"):
        cluster.first_from("cdr", 7)
    assert cluster.first_from("cdr", 7) == {1: 3}


@pytest.mark.parametrize(
    ("halves", "text"),
    [
        ((-1, 5), "__________8AAAAAAAAABQ"),
        ((0, 1), "AAAAAAAAAAAAAAAAAAAAAQ"),
        ((0, 0), None),
    ],
)
def test_an_id_is_written_as_kafka_writes_it(halves: tuple[int, int], text: str | None) -> None:
    assert id_text(Uuid(*halves)) == text


def test_the_topics_id_waits_until_the_topic_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    admin: Any = Admin(1, {"cdr": 2})
    unknown = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    answers: list[Any] = [unknown, SimpleNamespace(topic_id=Uuid(0, 1)), unknown]

    def result() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    admin.describe_topics = lambda *_, **__: {"cdr": SimpleNamespace(result=result)}
    monkeypatch.setattr(topics, "_RETRY_S", 0)
    cluster = cluster_with(monkeypatch, admin)
    assert cluster.topic_id("cdr") == "AAAAAAAAAAAAAAAAAAAAAQ"
    answers[:0] = [SimpleNamespace(topic_id=Uuid(0, one)) for one in (1, 0, 2)]
    cluster.check_kept("cdr", "AAAAAAAAAAAAAAAAAAAAAQ")
    cluster.check_kept("cdr", "AAAAAAAAAAAAAAAAAAAAAQ")
    with pytest.raises(PipelineError, match="cdr was deleted and made again while it was written"):
        cluster.check_kept("cdr", "AAAAAAAAAAAAAAAAAAAAAQ")
    del admin.there["cdr"]
    with pytest.raises(PipelineError, match="there is no topic cdr"):
        cluster.topic_id("cdr")


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_TIMEOUT_S", 0.2)
    with pytest.raises(Unreachable, match="no broker answers at 127.0.0.1:9: is it running"):
        Cluster(Connection("127.0.0.1:9")).cluster_id()


def test_a_broker_that_answers_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Admin(1, {"cdr": 1})
    asked: list[float] = []

    def list_topics(timeout: float) -> Any:
        asked.append(timeout)
        if len(asked) == 1:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return Admin.list_topics(late, timeout)

    monkeypatch.setattr(late, "list_topics", list_topics)
    monkeypatch.setattr(late, "poll", lambda _: None, raising=False)
    assert cluster_with(monkeypatch, late).partitions("cdr") == [0]
    assert asked == [1.0, 9.0]


def test_a_broker_that_refuses_these_settings_is_told_from_one_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: dict[str, Any] = {}
    asked: list[float] = []

    class Refusing:
        def list_topics(self, timeout: float) -> Any:
            asked.append(timeout)
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

        def poll(self, seconds: float) -> None:
            heard["error_cb"](KafkaError(KafkaError._ALL_BROKERS_DOWN))
            heard["error_cb"](KafkaError(KafkaError._AUTHENTICATION))

    def admin(settings: dict[str, Any]) -> Refusing:
        heard.update(settings)
        return Refusing()

    monkeypatch.setattr(topics, "AdminClient", admin)
    with pytest.raises(PipelineError, match=r"kafka:9092 lets nobody in .*kafka.security.protocol"):
        Cluster(Connection("kafka:9092")).cluster_id()
    assert asked == [1.0], "it says so at once"


def test_a_setting_that_does_not_fit_is_one_line() -> None:
    with pytest.raises(PipelineError, match='do not fit: .*"TLS".* "security.protocol"'):
        Cluster(Connection("127.0.0.1:9", {"kafka.security.protocol": "TLS"}))
