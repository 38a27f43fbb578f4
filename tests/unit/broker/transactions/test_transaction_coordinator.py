from __future__ import annotations

import pytest
import re2

from ground.sliced_work import Job, in_one_go
from protocol.errors import ErrorCode
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tests.unit.broker.transactions.desk import A0, A1, B0, Desk

NOBODY = (-1, -1)


def asked(desk: Desk, request: ListTransactionsRequest) -> ListTransactionsResponse:
    return in_one_go(desk.coordinator.list_transactions(request))


def listed(desk: Desk, **filters: object) -> list[tuple[str, int, str]]:
    response = asked(desk, ListTransactionsRequest(**filters))  # type: ignore[arg-type]
    assert response.error_code == 0
    return sorted(
        (one.transactional_id, one.producer_id, one.transaction_state)
        for one in response.transaction_states
    )


def test_an_empty_id_is_no_id() -> None:
    desk = Desk()
    invalid = ErrorCode.INVALID_REQUEST
    assert desk.init("") == (invalid, NOBODY)
    assert desk.add((1, 0), name="") == invalid
    assert desk.end((1, 0), True, name="") == (invalid, NOBODY)
    assert desk.coordinator.describe("").error_code == invalid


@pytest.mark.parametrize(
    ("timeout", "good"), [(900_000, True), (900_001, False), (1, True), (0, False), (-1, False)]
)
def test_a_timeout_has_a_limit(timeout: int, good: bool) -> None:
    answer = Desk().init(timeout=timeout)
    assert answer is not None
    assert answer[0] == (ErrorCode.NONE if good else ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def test_while_the_log_is_loaded_and_after_it_is_led_elsewhere() -> None:
    desk = Desk()
    desk.init()
    desk.coordinator.shutdown()
    desk.log.hold_loads = True
    desk.start()
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert desk.init() == (loading, NOBODY)
    assert desk.add((1000, 0)) == loading
    assert desk.coordinator.verify_partitions("t", (1000, 0), [A0]) == {A0: loading}
    assert desk.coordinator.describe("t").error_code == loading
    assert asked(desk, ListTransactionsRequest()).error_code == loading
    desk.log.finish_loads()
    assert desk.init() == (0, (1000, 1))
    desk.coordinator.on_resigned(desk.partition, desk.epoch)
    elsewhere = ErrorCode.NOT_COORDINATOR
    assert desk.init() == (elsewhere, NOBODY)
    assert desk.end((1000, 1), True) == (elsewhere, NOBODY)


def test_an_answer_that_waits_when_the_leadership_ends() -> None:
    desk = Desk()
    desk.log.commit_at_once = False
    answers: list[object] = []
    desk.coordinator.init_producer_id("t", 1000, None, lambda *answer: answers.append(answer))
    desk.coordinator.on_resigned(desk.partition)
    assert answers == [(ErrorCode.NOT_COORDINATOR, NOBODY)]


def test_without_a_producer_id_the_client_tries_again() -> None:
    desk = Desk()
    desk.give_ids = False
    assert desk.init() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, NOBODY)
    assert desk.log.records == {}


def test_transactions_are_described() -> None:
    desk = Desk()
    desk.init()
    desk.add((1000, 0), B0, A0, A1)
    found = desk.coordinator.describe("t")
    assert (found.error_code, found.transaction_state) == (0, "Ongoing")
    assert (found.producer_id, found.producer_epoch) == (1000, 0)
    assert found.transaction_timeout_ms == 60_000
    assert found.transaction_start_time_ms == desk.scheduler.wall_ms()
    assert [(one.topic, one.partitions) for one in found.topics] == [("b", [0]), ("a", [0, 1])]
    unknown = desk.coordinator.describe("u")
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_transactions_are_listed_by_state_producer_age_and_pattern() -> None:
    desk = Desk()
    for name in ("one", "two", "three"):
        desk.init(name)
    desk.add((1001, 0), name="two")
    desk.scheduler.run_for(5_000)
    everything = [("one", 1000, "Empty"), ("three", 1002, "Empty"), ("two", 1001, "Ongoing")]
    assert listed(desk) == everything
    assert listed(desk, state_filters=["Ongoing"]) == everything[2:]
    assert listed(desk, producer_id_filters=[1000, 1002]) == everything[:2]
    assert listed(desk, transactional_id_pattern="t.*") == everything[1:]
    assert listed(desk, transactional_id_pattern="t") == []
    assert listed(desk, transactional_id_pattern="") == everything
    assert listed(desk, duration_filter=4_999, state_filters=["Ongoing"]) == everything[2:]
    assert listed(desk, duration_filter=5_000, state_filters=["Ongoing"]) == []


def test_filters_that_mean_nothing_are_named() -> None:
    desk = Desk()
    desk.init()
    request = ListTransactionsRequest(state_filters=["Empty", "Open", "Open"])
    response = asked(desk, request)
    assert response.unknown_state_filters == ["Open"], "once, as Apache Kafka does"
    assert [one.transactional_id for one in response.transaction_states] == ["t"]
    wrong = asked(desk, ListTransactionsRequest([], [], -1, "("))
    assert wrong.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_pattern_of_too_many_steps_is_refused_before_re2_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    desk.init()
    monkeypatch.setattr(re2, "compile", None)
    for pattern in (r"\pL" * 10_000, "a{0,1000}" * 30):
        refused = asked(desk, ListTransactionsRequest([], [], -1, pattern))
        assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_thread_looks_for_ids_by_a_large_pattern() -> None:
    desk = Desk()
    names = [f"id-{number}" for number in range(100)]
    for name in names:
        desk.init(name)
    request = ListTransactionsRequest([], [], -1, ".{500}|.*7")
    steps = desk.coordinator.list_transactions(request)
    assert isinstance(next(steps), Job)
    steps.close()
    ids = {one.transactional_id for one in asked(desk, request).transaction_states}
    assert ids == {name for name in names if name.endswith("7")}


def test_after_a_stop_nothing_is_coordinated_here() -> None:
    desk = Desk()
    desk.coordinator.shutdown()
    desk.coordinator.on_elected(0, 9)
    assert desk.init() == (ErrorCode.NOT_COORDINATOR, NOBODY)
    stopped = asked(desk, ListTransactionsRequest())
    assert stopped.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
