"""The table of prepared requests: who profits from what, for how long, and what it may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.requests.admission import Admission
from broker.requests.prepared import ENTRY_BYTES, PreparedRequests, identity_of, kind_of
from broker.requests.request_times import RequestMetrics
from protocol.frames.frame_shape import Shape, Values, header_bytes
from tests.unit.broker.fake_connection import Connection


class Answers:
    """A prepared request that answers with its own name."""

    def __init__(self, name: bytes, shape: Shape) -> None:
        self.name = name
        self.shape = shape

    def follows(self, response: Any) -> bool:
        return True

    def answer(self, frame: memoryview, values: Values, later: Any) -> bytes:
        return self.name + b" %d" % values[0]

    def expect(self, message: memoryview, values: Values) -> None:
        return None


def frame_of(
    what: bytes = b"topic a", client_id: bytes | None = b"me", api: int = 12, number: int = 1
) -> memoryview:
    length = -1 if client_id is None else len(client_id)
    head = api.to_bytes(4) + number.to_bytes(4) + length.to_bytes(2, signed=True)
    return memoryview(head + (client_id or b"") + what)


class Table:
    """A table of room for so many entries."""

    def __init__(self, room: int = 1000, identity: Callable[..., Any] = identity_of) -> None:
        self.admission = Admission()
        self.requests = PreparedRequests(self.admission, room * (ENTRY_BYTES + 20), identity)
        self.metrics = RequestMetrics()
        self.me = Connection()

    def remember(
        self, frame: memoryview, asker: Connection | None = None, epoch: int | None = None
    ) -> None:
        shape = Shape(len(frame), header_bytes(frame))
        kind = kind_of(shape, frame)
        assert kind is not None
        epoch = self.admission.epoch if epoch is None else epoch
        answers = Answers(b"prepared", shape)
        self.requests.remember(asker or self.me, kind, answers, epoch, self.metrics)

    def answer(self, frame: memoryview, asker: Connection | None = None) -> Any:
        found = self.requests.find(asker or self.me, frame)
        return found and found[0].request.answer(frame, found[1], lambda: lambda _: None)

    def knows(self, frame: memoryview, asker: Connection | None = None) -> bool:
        return self.answer(frame, asker) is not None


def test_the_next_one_of_a_kind_is_answered() -> None:
    table = Table()
    assert not table.knows(frame_of())
    table.remember(frame_of())
    assert table.answer(frame_of(number=7)) == b"prepared 7"
    for other in (
        frame_of(b"topic b"),
        frame_of(b"topic"),
        frame_of(api=13),
        frame_of(client_id=b"you"),
        frame_of(client_id=b""),
        frame_of(client_id=None),
    ):
        assert not table.knows(other)
        table.remember(other)
        assert table.knows(other)
    assert len(table.requests) == 7


def test_requests_of_several_kinds_are_found_in_turns() -> None:
    table = Table()
    kinds = [frame_of(), frame_of(b"topic b"), frame_of(b"a longer topic"), frame_of(api=13)]
    for kind in kinds:
        table.remember(kind)
    assert all(table.knows(kind) for kind in (*kinds, *kinds, *reversed(kinds)))
    table.requests.invalidate(table.me, kinds[0])
    assert [table.knows(kind) for kind in kinds] == [False, True, True, True]


def test_what_is_no_frame_is_not_known() -> None:
    table = Table()
    table.remember(frame_of())
    whole = bytes(frame_of())
    assert not any(table.knows(memoryview(whole[:end])) for end in range(len(whole)))
    assert not table.knows(memoryview(whole[:8] + b"\x7f\xff" + whole[10:]))


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("principal", "User:mallory"),
        ("client_host", "10.0.0.9"),
        ("listener_name", "OUTSIDE"),
        ("security_protocol", "SSL"),
    ],
)
def test_nobody_profits_from_what_another_one_may_do(part: str, other: str) -> None:
    table, another = Table(), Connection()
    setattr(another, part, other)
    table.remember(frame_of())
    assert table.knows(frame_of(), Connection())  # the same on another connection
    assert not table.knows(frame_of(), another)
    # Nor does who was one of them a moment ago.
    setattr(table.me, part, other)
    assert not table.knows(frame_of())


def test_what_changed_since_it_was_judged_makes_it_stale() -> None:
    table = Table()
    epoch = table.admission.epoch
    table.remember(frame_of())
    table.admission.changed()
    assert not table.knows(frame_of())
    assert (len(table.requests), table.requests.size) == (0, 0)
    table.remember(frame_of(), epoch=epoch)  # it was judged before, and waited
    assert not table.knows(frame_of())
    table.remember(frame_of())
    assert table.knows(frame_of())


def test_nothing_is_prepared_where_each_request_is_to_be_seen() -> None:
    table = Table()
    table.remember(frame_of())
    table.admission.hold_preparing()
    table.remember(frame_of(b"topic b"))
    assert not table.knows(frame_of()) and not table.knows(frame_of(b"topic b"))


def test_what_failed_is_forgotten() -> None:
    table = Table()
    for what in (b"topic a", b"topic b"):
        table.remember(frame_of(what))
    table.requests.invalidate(table.me, frame_of())
    table.requests.invalidate(table.me, frame_of(b"unknown"))
    assert not table.knows(frame_of())
    assert table.knows(frame_of(b"topic b"))


def test_it_never_holds_more_than_it_may() -> None:
    table = Table(room=40)
    most = 40 * (ENTRY_BYTES + 20)
    for number in range(400):
        frame = frame_of(b"topic %4d" % (number % 90), client_id=b"client %d" % (number // 60))
        table.remember(frame)
        if number % 3:
            table.knows(frame)
        assert 0 < table.requests.size <= most
    assert len(table.requests) * ENTRY_BYTES <= most
    assert len(table.requests) > 10


def test_who_asked_last_is_found_again_after_all_of_it_went() -> None:
    table = Table()
    table.remember(frame_of())
    assert table.knows(frame_of())
    table.admission.changed()
    assert not table.knows(frame_of())
    table.remember(frame_of(), Connection())
    assert table.knows(frame_of())


@pytest.mark.parametrize("client_id", [None, b"", b"me"])
def test_who_asks_may_have_any_client_id(client_id: bytes | None) -> None:
    table = Table()
    for other in (b"us", client_id):
        table.remember(frame_of(client_id=other))
        for _ in range(2):
            assert table.knows(frame_of(client_id=other))
            assert not table.knows(frame_of(b"x", client_id=other))
    assert not table.knows(frame_of(client_id=b"you"))


def test_an_entry_larger_than_a_share_is_not_kept() -> None:
    table = Table(room=4)
    frame = frame_of(b"t" * 100)
    table.remember(frame)
    assert not table.knows(frame)
    table.remember(frame_of(b"t"))
    assert table.knows(frame_of(b"t"))


def test_the_same_again_takes_its_own_place() -> None:
    table = Table()
    table.remember(frame_of())
    size = table.requests.size
    table.remember(frame_of())
    assert (len(table.requests), table.requests.size) == (1, size)


def test_random_client_ids_flush_nobody() -> None:
    table = Table(room=100)
    regulars = [frame_of(b"topic %d" % n, client_id=b"regular") for n in range(20)]
    for frame in regulars:
        table.remember(frame)
        table.knows(frame)
    for number in range(5_000):
        table.remember(frame_of(client_id=b"x%d" % number))
    assert all(map(table.knows, regulars))
    # Even where the flood comes back once for each of them.
    for number in range(5_000):
        table.remember(frame_of(client_id=b"y%d" % number))
        table.knows(frame_of(client_id=b"y%d" % number))
        if number % 50 == 0:
            assert all(map(table.knows, regulars)), number


def test_who_asks_for_too_much_makes_room_among_its_own() -> None:
    table = Table(room=40)
    for number in range(8):
        table.remember(frame_of(b"mine %d" % number))
        table.knows(frame_of(b"mine %d" % number))
    for number in range(500):
        table.remember(frame_of(b"%d" % number, client_id=b"greedy"))
        table.knows(frame_of(b"%d" % number, client_id=b"greedy"))
    assert all(table.knows(frame_of(b"mine %d" % number)) for number in range(8))
    assert table.requests.size > 10 * ENTRY_BYTES
