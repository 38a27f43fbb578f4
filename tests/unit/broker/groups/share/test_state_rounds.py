"""Rounds of requests about many states: a limit of those without an answer, and one result."""

from __future__ import annotations

from broker.groups.share.ports import StateReply
from broker.groups.share.state_rounds import ASKED_AT_ONCE, StateAnswers, ask_all
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from protocol.errors import ErrorCode

KEYS = [SharePartitionKey("g", bytes(16), index) for index in range(2 * ASKED_AT_ONCE + 500)]


def test_no_more_than_the_limit_wait_for_an_answer() -> None:
    waiting: list[StateReply] = []
    results: list[StateAnswers] = []
    ask_all(KEYS, lambda _, reply: waiting.append(reply), results.append)
    assert len(waiting) == ASKED_AT_ONCE
    asked = 0
    while waiting:
        assert not results
        assert len(waiting) <= ASKED_AT_ONCE
        waiting.pop(0)(ErrorCode.NONE, StateAnswer(start_offset=asked))
        asked += 1
    (answers,) = results
    assert asked == len(KEYS) and list(answers) == KEYS
    assert answers[KEYS[7]] == (ErrorCode.NONE, StateAnswer(start_offset=7))


def test_answers_at_once_do_not_nest() -> None:
    results: list[StateAnswers] = []

    def ask(key: SharePartitionKey, reply: StateReply) -> None:
        odd = key.partition % 2
        reply(ErrorCode.NOT_COORDINATOR if odd else ErrorCode.NONE, StateAnswer())

    ask_all(KEYS, ask, results.append)
    (answers,) = results
    assert answers[KEYS[1]][0] is ErrorCode.NOT_COORDINATOR
    assert answers[KEYS[2]][0] is ErrorCode.NONE


def test_a_round_of_nothing_ends_at_once() -> None:
    results: list[StateAnswers] = []
    ask_all([], lambda *_: None, results.append)
    assert results == [{}]
