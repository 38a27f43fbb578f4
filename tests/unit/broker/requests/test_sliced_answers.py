"""Answers made in slices: short ones come at once, and a slice may fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from broker.apis.metadata import refuse_metadata
from broker.requests.sliced_answers import (
    ANSWERS_AT_ONCE,
    ASKED_AT_ONCE,
    FREED_AT_ONCE,
    READ_AT_ONCE_BYTES,
)
from controller.authorization.rights import UNLIMITED
from controller.requests.rights import EVERYTHING, allowed_in_slices
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Steps, in_one_go
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_response
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.primitives import StringTooLong
from tests.unit.broker.apis.api_fixture import context
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import Heard, ListJudge, on_topic

ANSWER = MetadataResponse(cluster_id="c")
REFUSED = refuse_metadata(MetadataRequest(None), ErrorCode.UNKNOWN_SERVER_ERROR)


class MetadataClient:
    """Who asks for some topics' metadata."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.answers: list[Any] = []

    def give(self, steps: Steps[MetadataResponse]) -> None:
        self.turns.answers.give(
            context(ApiKey.METADATA, 4),
            MetadataRequest(None),
            steps,
            self.answers.append,
            refuse_metadata,
        )


def steps(slices: int, error: Exception | None = None) -> Steps[MetadataResponse]:
    for _ in range(slices):
        yield None
    if error is not None:
        raise error
    return ANSWER


def test_a_short_answer_is_given_at_once() -> None:
    asked = MetadataClient()
    asked.give(steps(0))
    assert asked.answers == [ANSWER] and not asked.turns.soon


def test_a_long_one_when_all_is_done() -> None:
    asked = MetadataClient()
    asked.give(steps(3))
    assert not asked.answers and asked.turns.run() == 3
    assert asked.answers == [ANSWER]


def test_few_long_ones_are_made_at_once_and_short_ones_do_not_wait() -> None:
    asked = MetadataClient()
    begun: list[int] = []

    def long(number: int, error: Exception | None) -> Steps[MetadataResponse]:
        yield None
        begun.append(number)
        return (yield from steps(3, error))

    for number in range(3 * ANSWERS_AT_ONCE):
        asked.give(long(number, RuntimeError("a bug") if number == 2 else None))
    for _ in range(2 * ANSWERS_AT_ONCE):
        asked.turns.soon.popleft()()
    assert begun == list(range(ANSWERS_AT_ONCE))
    asked.give(steps(0))
    assert asked.answers == [ANSWER]
    asked.turns.run()
    assert begun == list(range(3 * ANSWERS_AT_ONCE)), "in the order in which they were asked for"
    assert len(asked.answers) == 1 + 3 * ANSWERS_AT_ONCE
    assert asked.answers.count(REFUSED) == 1


def test_a_slice_that_fails_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    asked = MetadataClient()
    asked.give(steps(1, RuntimeError("a bug")))
    with caplog.at_level(logging.ERROR):
        asked.turns.run()
    assert asked.answers == [REFUSED]
    (record,) = caplog.records
    assert record.getMessage() == "METADATA v4 failed: a bug" and record.exc_info


def test_names_that_are_too_long_are_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    asked = MetadataClient()
    asked.give(steps(1, StringTooLong(40_000)))
    asked.turns.run()
    assert asked.answers == [REFUSED] and not caplog.records[0].exc_info


def test_the_first_slice_fails_as_a_handler_does() -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        MetadataClient().give(steps(0, RuntimeError("a bug")))


def test_few_long_requests_are_read_at_once_and_none_while_an_answer_waits() -> None:
    asked = MetadataClient()
    begun: list[int] = []
    read: list[int] = []

    def reading(number: int) -> Steps[Any]:
        begun.append(number)
        yield None
        return number

    def done(number: int | None, error: Exception | None) -> None:
        assert error is None and number is not None
        read.append(number)
        asked.give(steps(20))

    for number in range(2 * ANSWERS_AT_ONCE):
        asked.turns.answers.read(reading(number), 1, done)
    while len(read) < ANSWERS_AT_ONCE:
        asked.turns.soon.popleft()()
    assert begun == list(range(ANSWERS_AT_ONCE)), "their answers come first"
    asked.turns.run()
    assert begun == read == list(range(2 * ANSWERS_AT_ONCE))
    assert len(asked.answers) == 2 * ANSWERS_AT_ONCE


def test_requests_are_read_at_once_up_to_so_many_bytes_with_those_that_are_answered() -> None:
    asked = MetadataClient()
    begun: list[str] = []

    def reading(name: str) -> Steps[Any]:
        begun.append(name)
        yield None

    def done(_: object, error: Exception | None) -> None:
        asked.give(steps(20))

    half = READ_AT_ONCE_BYTES // 2
    for name, size_bytes in (("a", half), ("b", half), ("c", half), ("all", 3 * half), ("d", 0)):
        asked.turns.answers.read(reading(name), size_bytes, done)
    while "d" not in begun:
        asked.turns.soon.popleft()()
    assert begun == ["a", "b", "d"]
    while "c" not in begun:
        asked.turns.soon.popleft()()
    assert asked.answers, "what is answered counts until then"
    asked.turns.run()
    assert begun == ["a", "b", "d", "c", "all"] and len(asked.answers) == 5


def test_a_response_with_long_arrays_is_written_in_slices_wherever_they_are() -> None:
    asked = MetadataClient()
    partitions = [MetadataResponsePartition(partition_index=number) for number in range(1_000)]
    brokers = [MetadataResponseBroker(number, "host") for number in range(1_000)]
    response = MetadataResponse(brokers=brokers, cluster_id="c")
    response.topics = [MetadataResponseTopic(name="t", partitions=partitions)]
    written: list[Any] = []
    asked.turns.answers.write(response, 4, written.append)
    assert not written and asked.turns.run() > 10
    assert encode_response(written[0], 4, 1).joined() == encode_response(response, 4, 1).joined()
    assert response.brokers is brokers and response.topics[0].partitions is partitions
    short = MetadataResponse(topics=[MetadataResponseTopic(name="t")])
    asked.turns.answers.write(short, 4, written.append)
    assert written[1] is short and not asked.turns.soon


def test_messages_within_short_arrays_count() -> None:
    asked, written = MetadataClient(), list[Any]()
    partitions = [MetadataResponsePartition(partition_index=number) for number in range(30)]
    topics = [MetadataResponseTopic(name="t", partitions=partitions) for _ in range(40)]
    response = MetadataResponse(topics=topics)
    asked.turns.answers.write(response, 4, written.append)
    assert not written and asked.turns.run() >= 40 * 31 // PIECES_AT_ONCE
    assert encode_response(written[0], 4, 1).joined() == encode_response(response, 4, 1).joined()


def test_a_response_that_cannot_be_written_comes_as_it_is() -> None:
    asked, written = MetadataClient(), list[Any]()
    topics = [MetadataResponseTopic(name="t") for _ in range(1_000)]
    topics[-1].name = "x" * 40_000
    response = MetadataResponse(topics=topics)
    asked.turns.answers.write(response, 4, written.append)
    asked.turns.run()
    assert written == [response]


def judging(asked: MetadataClient, steps: Steps[int], judged: Callable[[int], None]) -> None:
    """Have a request judged by `steps`."""
    asked.turns.answers.judge(
        context(ApiKey.METADATA, 4),
        MetadataRequest(None),
        steps,
        judged,
        asked.answers.append,
        refuse_metadata,
    )


def judgement(slices: int) -> Steps[int]:
    """A judgement of so many slices, behind the first."""
    for _ in range(slices):
        yield None
    return slices


def test_a_request_is_judged_at_once_or_in_slices_before_it_goes_on() -> None:
    asked, judged = MetadataClient(), list[int]()
    for slices in (0, 3):
        judging(asked, judgement(slices), judged.append)
    assert judged == [0] and asked.turns.run() == 3
    assert judged == [0, 3] and not asked.answers


def test_what_fails_behind_a_long_judgement_is_answered() -> None:
    def fail(_: int) -> None:
        raise RuntimeError("a bug")

    asked = MetadataClient()
    judging(asked, judgement(1), fail)
    asked.turns.run()
    assert asked.answers == [REFUSED]
    with pytest.raises(RuntimeError, match="a bug"):
        judging(asked, judgement(0), fail)


@pytest.mark.parametrize("count", [0, 1, 3 * ASKED_AT_ONCE])
def test_answers_are_gathered_in_the_order_of_what_is_asked(count: int) -> None:
    asked, gathered = MetadataClient(), list[list[int]]()
    later: list[Callable[[], None]] = []

    def ask(item: int, told: Callable[[int], None]) -> None:
        if item % 2:
            told(-item)
        else:
            later.append(partial(told, -item))

    asked.turns.answers.gather(
        context(ApiKey.METADATA, 4),
        MetadataRequest(None),
        range(count),
        ask,
        gathered.append,
        asked.answers.append,
        refuse_metadata,
    )
    assert asked.turns.run() == max(count - 1, 0) // ASKED_AT_ONCE
    assert bool(gathered) is not bool(later)
    while later:
        later.pop()()
    assert gathered == [[-item for item in range(count)]]


def test_a_message_is_freed_in_slices() -> None:
    freed: list[str | None] = []

    class Topic(MetadataRequestTopic):
        __slots__ = ()

        def __del__(self) -> None:
            freed.append(self.name)

    turns, count = Turns(), 2 * FREED_AT_ONCE
    turns.answers.free(MetadataRequest([Topic(name=str(number)) for number in range(count)]))
    in_turns: list[int] = []
    turns.run(lambda: in_turns.append(len(freed) - sum(in_turns)))
    assert sum(in_turns) == count and max(in_turns) <= FREED_AT_ONCE


def test_who_may_do_everything_is_not_judged() -> None:
    names = ["t"] * (PIECES_AT_ONCE + 1)
    found = in_one_go(allowed_in_slices(UNLIMITED, Operation.READ, Resource.TOPIC, names))
    assert found is EVERYTHING and "t" in found


def test_many_names_are_judged_in_slices_and_each_once() -> None:
    names = [f"t{number}" for number in range(2 * PIECES_AT_ONCE + 1)]
    judge, heard = ListJudge(on_topic(Operation.READ, "t1", names[-1])), Heard()
    rights = judge.rights(heard)
    asking = allowed_in_slices(rights, Operation.READ, Resource.TOPIC, ["t1", *names])
    counts = []
    try:
        while True:
            next(asking)
            counts.append(len(judge.asked))
    except StopIteration as end:
        assert end.value == {"t1", names[-1]}
    assert counts == [0, PIECES_AT_ONCE, 2 * PIECES_AT_ONCE]
    assert len(judge.asked) == len(names)
    assert [count for _, _, count in heard.told_of[:2]] == [2, 1]


def test_very_many_names_are_counted_in_slices() -> None:
    read: list[int] = []
    names = ("t" for number in range(4 * BULK_AT_ONCE) if not read.append(number))
    rights = ListJudge().rights()
    next(allowed_in_slices(rights, Operation.READ, Resource.TOPIC, names))
    assert len(read) == 2 * BULK_AT_ONCE


def test_few_names_are_judged_at_once() -> None:
    rights = ListJudge(on_topic(Operation.READ, "t")).rights()
    asking = allowed_in_slices(rights, Operation.READ, Resource.TOPIC, ["t", "u"])
    with pytest.raises(StopIteration) as end:
        next(asking)
    assert end.value.value == {"t"}
