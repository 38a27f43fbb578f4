from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.fetch.rights import ConsumerRights, FollowerRights
from broker.replication.fetch_session import FetchKey, FetchPartition
from broker.requests.admission import Admission
from controller.authorization.rights import Rights
from ground.sliced_work import Pace, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from tests.unit.broker.apis.fetch.fetch_fixture import Fetch, offsets
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.controller.rights_fixture import ALICE, Heard, ListJudge, on_cluster, on_topic

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
READ = Operation.READ
BROKER = on_cluster(Operation.CLUSTER_ACTION)
WAIT_MS = 500


class Judged(Fetch):
    """The API for one who may do what is on a list."""

    def __init__(self, folder: Path, *may_read: str) -> None:
        self.judge = ListJudge(on_topic(READ, *may_read))
        self.epochs = Admission()
        super().__init__(folder, Rights(self.judge, ALICE, None, self.epochs))
        for name in ("a", "b"):
            self.replicas.create(name)

    def revoke(self, *left: str) -> None:
        """From now on it may read just these."""
        self.judge.allowed = on_topic(READ, *left)
        self.epochs.changed()

    def errors(self) -> dict[tuple[str, int], int]:
        return {key: one.error_code for key, one in self.partitions().items()}

    def open(self, *names: str, version: int = 12) -> int:
        """A session; its id."""
        self.send({(name, 0): 0 for name in names}, version=version, session=(0, 0))
        return self.answers[-1].session_id


@pytest.fixture
def fetch(tmp_path: Path) -> Judged:
    return Judged(tmp_path, "a")


# --- the verdicts -------------------------------------------------------------------------------


def test_of_each_topic_that_nobody_has_its_own_partitions_alone_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas = Replicas(str(tmp_path))
    looked_for: list[FetchKey] = []
    monkeypatch.setattr(replicas.manager, "partition_by_id", lambda *key: looked_for.append(key))
    keys: list[FetchKey] = [(topic_id_of(f"t{number}"), number) for number in range(100)]
    rights = ConsumerRights(Rights(ListJudge([]), ALICE, None, Admission()), replicas.manager)
    assert in_one_go(rights.judge(keys, Pace())) and looked_for == keys


def test_topics_are_asked_for_once_until_others_judge(tmp_path: Path) -> None:
    replicas, judge, epochs = Replicas(str(tmp_path)), ListJudge(on_topic(READ, "a")), Admission()
    replicas.create("a")
    heard = Heard()
    rights = ConsumerRights(Rights(judge, ALICE, heard, epochs), replicas.manager)
    keys: list[FetchKey] = [("a", 0), ("a", 1), (topic_id_of("a"), 0), ("b", 0)]
    wanted = [FetchPartition(key, 0, 0) for key in keys]
    assert not in_one_go(rights.judge(keys, Pace()))
    assert [rights.may_read(one) for one in wanted] == [True, True, True, False]
    assert [(action.name, count) for action, _, count in heard.told_of] == [("a", 3), ("b", 1)]
    judge.allowed.clear()
    rights.renew()
    assert rights.may_read(wanted[0])  # nobody said that it is another now
    epochs.changed()
    rights.renew()
    assert not any(rights.may_read(one) for one in wanted)


def test_where_a_verdict_holds_once_it_is_asked_for_after_each_wait(tmp_path: Path) -> None:
    replicas, judge, epochs = Replicas(str(tmp_path)), ListJudge(on_topic(READ, "a")), Admission()
    epochs.hold_preparing()
    rights = ConsumerRights(Rights(judge, ALICE, None, epochs), replicas.manager)
    wanted = FetchPartition(("a", 0), 0, 0)
    assert rights.may_read(wanted)
    judge.allowed.clear()
    rights.renew()
    assert not rights.may_read(wanted)


def test_an_id_that_nobody_has_is_not_judged_until_somebody_has_it(tmp_path: Path) -> None:
    replicas, judge = Replicas(str(tmp_path)), ListJudge()
    rights = ConsumerRights(judge.rights(), replicas.manager)
    wanted = FetchPartition((topic_id_of("a"), 0), 0, 0)
    assert rights.may_read(wanted)
    assert judge.asked == []
    replicas.create("a")
    assert not rights.may_read(wanted)


def test_a_topic_led_elsewhere_is_judged_by_its_name_too(tmp_path: Path) -> None:
    replicas = Replicas(str(tmp_path))
    replicas.replay_new("a", replicas=[2], leader=2)
    rights = ConsumerRights(ListJudge().rights(), replicas.manager)
    assert not rights.may_read(FetchPartition((topic_id_of("a"), 0), 0, 0))


def test_a_follower_is_asked_about_once_and_for_all(tmp_path: Path) -> None:
    judge, epochs = ListJudge(BROKER), Admission()
    wanted = [FetchPartition((name, 0), 0, 0) for name in ("a", "b")]
    rights = FollowerRights(Rights(judge, ALICE, None, epochs))
    assert in_one_go(rights.judge([one.key for one in wanted], Pace()))
    assert all(rights.may_read(one) for one in wanted)
    assert len(judge.asked) == 1
    judge.allowed.clear()
    epochs.changed()
    rights.renew()
    assert not any(rights.may_read(one) for one in wanted)


def test_a_follower_that_was_judged_is_asked_about_when_others_judge() -> None:
    judge, epochs = ListJudge(), Admission()
    rights = FollowerRights(Rights(judge, ALICE, None, epochs), epochs.epoch)
    wanted = FetchPartition(("a", 0), 0, 0)
    rights.renew()
    assert rights.may_read(wanted)
    assert judge.asked == []
    epochs.changed()
    rights.renew()
    assert not rights.may_read(wanted)


# --- one request --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_what_may_not_be_read_gives_its_error_alone(fetch: Judged, version: int) -> None:
    for name in ("a", "b"):
        fetch.replicas.append(name, b"v")
    fetch.send({("b", 0): 0, ("a", 0): 0}, version=version)
    found = fetch.partitions()
    assert list(found) == [("a", 0), ("b", 0)]
    assert offsets(found["a", 0]) == [0]
    denied = found["b", 0]
    assert (denied.error_code, denied.records) == (DENIED, b"")
    told = denied.high_watermark, denied.last_stable_offset, denied.log_start_offset
    assert told == (-1, -1, -1)


def test_by_name_a_topic_that_is_there_is_like_one_that_is_not(fetch: Judged) -> None:
    fetch.send({("b", 0): 0, ("none", 0): 0, ("b", 9): 0})
    assert set(fetch.errors().values()) == {DENIED}


def test_what_is_sorted_out_comes_last_in_the_order_of_kafka(fetch: Judged) -> None:
    fetch.judge.allowed |= on_topic(READ, "no")
    asked: Any = {("b", 0): 0, ("no", 0): 0, ("a", 7): 0, ("a", 0): 0, ("z", 0): 0}
    fetch.send(asked, version=12)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(fetch.errors().items()) == [
        (("a", 0), 0),
        (("b", 0), DENIED),
        (("no", 0), unknown),
        (("a", 7), unknown),
        (("z", 0), DENIED),
    ]
    fetch.send(asked, version=13)
    assert list(fetch.errors().items())[1] == (("no", 0), ErrorCode.UNKNOWN_TOPIC_ID)


def test_a_denial_ends_no_wait_unless_it_is_all(fetch: Judged) -> None:
    assert fetch.send({("b", 0): 0, ("a", 0): 0}, max_wait_ms=WAIT_MS) == []
    fetch.replicas.append("a", b"v")
    assert fetch.errors() == {("a", 0): 0, ("b", 0): DENIED}
    fetch.send({("b", 0): 0}, max_wait_ms=WAIT_MS)
    assert len(fetch.answers) == 2


# --- a session ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [12, 13])
def test_all_of_a_session_is_judged_at_each_fetch(fetch: Judged, version: int) -> None:
    fetch.judge.allowed |= on_topic(READ, "b")
    session = fetch.open("a", "b", version=version)
    assert fetch.errors() == {("a", 0): 0, ("b", 0): 0}
    fetch.revoke("a")
    for epoch in (1, 2):
        fetch.send({}, version=version, session=(session, epoch))
        assert fetch.errors() == {("b", 0): DENIED}
    fetch.revoke("a", "b")
    fetch.send({}, version=version, session=(session, 3))
    assert fetch.errors() == {("b", 0): 0}
    fetch.send({}, version=version, session=(session, 4))
    assert fetch.errors() == {}


def test_a_session_that_somebody_else_goes_on_with_tells_nothing(fetch: Judged) -> None:
    session = fetch.open("a")
    fetch.replicas.append("a", b"v")
    fetch.rights = ListJudge(on_topic(READ, "b")).rights()
    fetch.send({("b", 0): 0}, session=(session, 1))
    assert fetch.errors() == {("a", 0): DENIED, ("b", 0): 0}


# --- one that waits -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("in_session", [False, True])
def test_one_that_waits_is_judged_anew_when_it_is_woken(
    fetch: Judged, version: int, in_session: bool
) -> None:
    session = (fetch.open("a", version=version), 1) if in_session else (0, -1)
    before = len(fetch.answers)
    fetch.send({("a", 0): 0}, version=version, session=session, max_wait_ms=WAIT_MS)
    fetch.revoke()
    assert len(fetch.answers) == before
    fetch.replicas.append("a", b"v")
    fetch.replicas.scheduler.run_for(WAIT_MS)
    assert fetch.errors() == {("a", 0): DENIED}
    assert fetch.one().records == b""


def test_one_that_waits_is_judged_anew_at_its_deadline(fetch: Judged) -> None:
    fetch.replicas.append("a", b"v")
    fetch.send({("a", 0): 0}, min_bytes=9_999, max_wait_ms=WAIT_MS)
    fetch.revoke()
    fetch.replicas.scheduler.run_for(WAIT_MS)
    assert fetch.errors() == {("a", 0): DENIED}


def test_one_that_is_woken_asks_nobody_where_nothing_is_other(fetch: Judged) -> None:
    fetch.send({("a", 0): 0}, min_bytes=100, max_wait_ms=WAIT_MS)
    for _ in range(5):
        fetch.replicas.append("a", b"v")
    assert len(fetch.judge.asked) == 1


# --- a follower ---------------------------------------------------------------------------------


def test_a_follower_needs_the_clusters_right_and_no_other(tmp_path: Path) -> None:
    fetch = Judged(tmp_path, "a", "c")
    leader = fetch.replicas.create("c", replicas=[1, 2], isr=[1, 2])
    fetch.replicas.append("c", b"v")
    assert leader.log.high_watermark == 0
    fetch.send({("c", 0): 1}, replica_id=2)
    assert fetch.errors() == {("c", 0): DENIED}
    assert leader.log.high_watermark == 0  # and what it told of itself is not believed
    fetch.judge.allowed = set(BROKER)
    fetch.send({("c", 0): 1}, replica_id=2)
    assert fetch.errors() == {("c", 0): 0}
    assert leader.log.high_watermark == 1


def test_who_has_the_clusters_right_reads_nothing_as_a_client(fetch: Judged) -> None:
    fetch.judge.allowed = set(BROKER)
    fetch.send({("a", 0): 0})
    assert fetch.errors() == {("a", 0): DENIED}


def test_a_denied_follower_is_told_nothing_of_ids(fetch: Judged) -> None:
    fetch.send({("a", 0): 0, ("none", 0): 0}, version=13, replica_id=2)
    assert set(fetch.errors().values()) == {DENIED}


@pytest.mark.parametrize("listener", ["PLAINTEXT", "OTHER"])
def test_where_rights_are_judged_the_listener_is_not(fetch: Judged, listener: str) -> None:
    fetch.judge.allowed = set(BROKER)
    fetch.send({("a", 0): 0}, replica_id=1, listener=listener)
    assert fetch.errors() != {("a", 0): DENIED}
    assert fetch.answers[0].error_code == 0


def test_a_follower_that_waits_is_judged_anew(tmp_path: Path) -> None:
    fetch = Judged(tmp_path)
    fetch.replicas.create("c", replicas=[1, 2], isr=[1, 2])
    fetch.judge.allowed = set(BROKER)
    fetch.send({("c", 0): 0}, replica_id=2, session=(0, 0))
    session = (fetch.answers.pop().session_id, 1)
    assert fetch.send({}, replica_id=2, session=session, max_wait_ms=WAIT_MS) == []
    fetch.revoke("c")
    fetch.replicas.append("c", b"v")
    fetch.replicas.scheduler.run_for(WAIT_MS)
    assert fetch.errors() == {("c", 0): DENIED}
