"""Clients that quotas hold back, at their sockets: by Ottla, and by Apache Kafka the same.

Whose quota counts is told by the wait. With slices of a second, of which two count, the first
request of B bytes at a quota of Q waits (B - Q) / Q seconds.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.compat.quota_rates.cells import PRODUCE, Cell
from tests.compat.quota_rates.measure import Work
from tests.compat.quota_rates.peers import KAFKA, OTTLA, PASSWORD, Entity, Served, served
from tests.tools.waiting import LIMIT_S, wait_until

BOB, CAROL, DAVE = "bob", "carol", "dave"
C1, C2 = "c1", "c2"
RATE = "producer_byte_rate"
TOPIC = "taken"
RECORD_BYTES = 100_000
MARGIN_MS = 3

NUMBERS = range(8)
"""Of the forms; the first that is set counts."""
DEFAULTS: dict[int, Entity] = {
    4: {"user": None, "client-id": None},
    5: {"user": None},
    7: {"client-id": None},
}
"""The forms that name nobody."""


def named(user: str, client_id: str) -> dict[int, Entity]:
    """The others."""
    return {
        0: {"user": user, "client-id": client_id},
        1: {"user": user, "client-id": None},
        2: {"user": user},
        3: {"user": None, "client-id": client_id},
        6: {"client-id": client_id},
    }


@pytest.fixture(scope="module", params=[OTTLA, pytest.param(KAFKA, marks=pytest.mark.java)])
def broker(request: pytest.FixtureRequest) -> Iterator[Served]:
    settings = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
    known = [f"known-{number}" for number in NUMBERS]
    unknown = [f"unknown-{number}" for number in NUMBERS]
    users = [BOB, CAROL, DAVE, *known, *unknown]
    with served(request.param, users, settings) as running:
        running.make_topic(TOPIC)
        running.fill(TOPIC, 1)
        yield running


@contextmanager
def client(broker: Served, user: str, client_id: str = C2) -> Iterator[WireClient]:
    with WireClient(broker.users_port, client_id) as made:
        made.log_in("PLAIN", user, PASSWORD)
        yield made


def produce() -> ProduceRequest:
    record = Record(-1, int(time.time() * 1000), None, bytes(RECORD_BYTES))
    data = PartitionProduceData(0, bytes(build_batch([record])))
    return ProduceRequest(None, 1, 30_000, [TopicProduceData(TOPIC, partition_data=[data])])


def wait_ms(broker: Served, user: str, client_id: str) -> int:
    """How long a client that has come just now is told to wait."""
    with client(broker, user, client_id) as one:
        told: int = one.call(produce(), 9).throttle_time_ms
        return told


def quota_for(wait_s: float) -> float:
    """With which the first request waits so long, but for its header."""
    return float(int(RECORD_BYTES / (1 + wait_s)))


def test_of_the_eight_forms_the_first_that_is_set_counts_and_defaults_do_for_the_unknown(
    broker: Served,
) -> None:
    """Each number has a user and a client of its own, for whom the forms from it on are set: so
    the first request of each is the first that its quota has seen."""
    waits_ms = [200 * (number + 1) for number in NUMBERS]
    for number, form in DEFAULTS.items():
        broker.set_quota(form, RATE, quota_for(waits_ms[number] / 1000))
    seen, of_unknown = [], []
    for number in NUMBERS:
        user, client_id = f"known-{number}", f"client-{number}"
        for later, form in named(user, client_id).items():
            if later >= number:
                broker.set_quota(form, RATE, quota_for(waits_ms[later] / 1000))
        seen.append(wait_ms(broker, user, client_id))
        of_unknown.append(wait_ms(broker, f"unknown-{number}", f"unknown-{number}"))
        if number in DEFAULTS:
            broker.set_quota(DEFAULTS[number], RATE, None)
        for later, form in named(user, client_id).items():
            if later >= number:
                broker.set_quota(form, RATE, None)
    # The header makes each a little longer; the next form's is far away.
    assert [round(wait, -2) for wait in seen] == waits_ms
    in_force = [min(form for form in DEFAULTS if form >= number) for number in NUMBERS]
    assert [round(wait, -2) for wait in of_unknown] == [waits_ms[form] for form in in_force]
    assert wait_ms(broker, "known-0", "client-0") == 0


def test_what_a_muted_connection_sends_stays_unread_and_others_of_its_user_are_served(
    broker: Served,
) -> None:
    broker.set_quota({"user": BOB}, RATE, quota_for(1.0))
    wait_until(lambda: serves_beside_a_muted(broker), "a call that is served beside a muted one")
    broker.set_quota({"user": BOB}, RATE, None)


def serves_beside_a_muted(broker: Served) -> bool:
    """Tell whether another connection was served while one was muted, and see what that one sends.

    A machine that is busy may hold this process up until the connection is heard again: then there
    was nothing to see.
    """
    served = 0
    with client(broker, BOB) as muted, client(broker, BOB) as other:
        begun = time.monotonic()
        told_ms = muted.call(produce(), 9).throttle_time_ms
        assert told_ms >= 1000
        is_heard_at = begun + (told_ms - MARGIN_MS) / 1000
        ours = muted._socket.getsockname()[1]
        muted.send(ApiVersionsRequest(), 0)
        sent = unread_bytes(broker.users_port, ours)
        while True:
            assert other.call(ApiVersionsRequest(), 0).error_code == 0
            unread = unread_bytes(broker.users_port, ours)
            if time.monotonic() >= is_heard_at:
                break
            assert unread == sent > 0
            served += 1
            time.sleep(0.02)
        assert muted.receive().error_code == 0
        assert time.monotonic() >= is_heard_at
        assert unread_bytes(broker.users_port, ours) == 0
    return served > 0


def unread_bytes(port: int, ours: int) -> int:
    """Of what we have sent: how much lies in the kernel's queue of the broker's end."""
    address = struct.unpack("<I", socket.inet_aton("127.0.0.1"))[0]
    local, remote = f"{address:08X}:{port:04X}", f"{address:08X}:{ours:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            # Java's sockets are of IPv6: the address is the end of theirs.
            if words[1].endswith(local) and words[2].endswith(remote):
                return int(words[4].partition(":")[2], 16)
    raise AssertionError("there is no such connection")


def test_clients_go_on_when_a_quota_is_removed_while_it_holds_them_back(broker: Served) -> None:
    """librdkafka's, five of one user, in steady work."""
    quota = 100_000.0
    broker.set_quota({"user": CAROL}, RATE, quota)
    cell = Cell("confluent-kafka", PRODUCE, 5)
    work = Work(cell, broker.way(CAROL), TOPIC)
    try:
        held = taken_in(work, 1.5)
        assert held[-1] - held[0] < 10 * quota
        broker.set_quota({"user": CAROL}, RATE, None)
        before = work.samples[-1][1]

        def have_sent_much() -> bool:
            work.first_byte()  # or why it ended
            return work.samples[-1][1] - before > (LIMIT_S + 10) * quota

        wait_until(have_sent_much, "more bytes than the quota lets through")
    finally:
        work.close()


def taken_in(work: Work, seconds: float) -> list[int]:
    """Bytes acknowledged at the begin and the end of so long, which begins with the first."""
    wait_until(lambda: work.first_byte() is not None, "the first byte")
    first = len(work.samples) - 1
    ends = work.samples[first][0] + seconds
    while work.samples[-1][0] < ends:
        work.first_byte()  # or why it ended
        time.sleep(0.02)
    return [total for at, total in work.samples[first:] if at <= ends]


def test_a_quota_of_a_user_is_shared_by_its_connections(broker: Served) -> None:
    broker.set_quota({"user": DAVE}, RATE, quota_for(0.2))

    def waits_grow() -> bool:
        first, second, third = (wait_ms(broker, DAVE, client_id) for client_id in (C1, C2, C1))
        assert first >= 200
        return second > first + 500 and third > second + 500

    # Requests that a busy machine holds up for longer than the windows last are not added up.
    wait_until(waits_grow, "waits that grow with each connection's request", pause_s=3.0)
    broker.set_quota({"user": DAVE}, RATE, None)
