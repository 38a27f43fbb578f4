"""The cost of ACLs: requests of a user with two ACLs, alone and beside 1,000 other ACLs.

Brokers authorize each topic of a Metadata of ten topics, each time. A Produce of one record is
authorized by Kafka each time; Ottla reuses the result for equal requests. The client is one
connection of Python that has logged in by SCRAM. It limits the rate, so compare `broker CPU`. The
cost of a super user is measured on the plain listener. There is no goal.

Each of the 1,000 ACLs is for another user. A tenth are for all topics, so that every authorization
reads them; half are for a topic each, three tenths for a prefix, the others for a group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.login_client import logged_in_by_scram
from bench.peers import BenchPeer
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Load,
    Scenario,
    WindowResult,
    steady,
)
from bench.secured import USER
from bench.tls import secured_of, warm_up_s
from bench.wire import Wire, create_topic, end_offset, produce_frame
from controller.metadata.acl import Acl, PatternType
from ottla.plugins.authorizer import Operation, Resource
from protocol.frames.message_codec import encode_request
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.acls import EVERYTHING, add, allow, remove
from tests.clients.wire_client import WireClient

OTHERS = 1_000
TOPICS = [f"judged-{number}" for number in range(10)]
CLIENT = "Python, by SCRAM"
_VALUE_BYTES = 100
_METADATA_VERSION = 8

OWN_ACLS = [
    allow(f"User:{USER}", operation, Resource.TOPIC, "judged-", pattern=PatternType.PREFIXED)
    for operation in (Operation.WRITE, Operation.DESCRIBE)
]

Check = Callable[[BenchPeer, Wire], int]
"""A function that returns the broker's position.

Raises RuntimeError if the broker refuses requests.
"""


def acls_of_others(count: int) -> list[Acl]:
    """Return `count` ACLs, each for another user."""
    return [_acl_of(number) for number in range(count)]


def _acl_of(number: int) -> Acl:
    """Return the ACL of this number, of a mix of patterns for users other than the measured one."""
    user, kind = f"User:other-{number}", number % 10
    if kind == 0:
        return allow(user, Operation.READ, Resource.TOPIC, "*")
    if kind < 6:
        return allow(user, Operation.READ, Resource.TOPIC, f"orders-{number}")
    if kind < 9:
        name, pattern = f"team-{number}.", PatternType.PREFIXED
        return allow(user, Operation.READ, Resource.TOPIC, name, pattern=pattern)
    return allow(user, Operation.READ, Resource.GROUP, f"group-{number}")


def metadata(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure Metadata requests of ten topics by name, one in flight."""
    named = [MetadataRequestTopic(name=name) for name in TOPICS]
    request = MetadataRequest(named, allow_auto_topic_creation=False)

    def check(_: BenchPeer, wire: Wire) -> int:
        answer = wire.ask(request, _METADATA_VERSION)
        if any(topic.error_code for topic in answer.topics):
            raise RuntimeError("the user may not see the topics")
        return 0

    frame = encode_request(request, _METADATA_VERSION, 2, "bench")
    return _measured(peer, window_s, frame, check, counts=False)


def single(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure Produce requests of one 100-byte record, acks=1, one in flight."""

    def check(peer: BenchPeer, _: Wire) -> int:
        return end_offset(peer.port, TOPICS[0], 0)

    frame = produce_frame(TOPICS[0], 0, _VALUE_BYTES)
    return _measured(peer, window_s, frame, check, counts=True)


def _measured(
    peer: BenchPeer, window_s: float, frame: bytes, check: Check, *, counts: bool
) -> list[Figure]:
    """Measure with two ACLs and with all; `counts`: each request advances `check` by one."""
    scram_port = secured_of(peer).scram_port
    for name in TOPICS:
        create_topic(peer.port, name)
    with WireClient(peer.port) as admin, _connections(peer, scram_port) as (by_user, by_super):

        def load(wire: Wire) -> Load:
            return checked(requests(wire, frame), lambda: check(peer, wire), counts=counts)

        add(admin, *OWN_ACLS)
        load(by_user)(warm_up_s(peer, window_s))
        super_user = steady(peer, load(by_super), window_s)
        few = steady(peer, load(by_user), window_s)
        add(admin, *acls_of_others(OTHERS))
        many = steady(peer, load(by_user), window_s)
        remove(admin, EVERYTHING)
    return [
        Figure(RATE, "req/s", many.rate, LARGER),
        Figure(BROKER_CPU, "µs/req", many.cpu_per_unit * 1e6, SMALLER),
        Figure("broker CPU, two ACLs", "µs/req", few.cpu_per_unit * 1e6, SMALLER),
        Figure("broker CPU, super user", "µs/req", super_user.cpu_per_unit * 1e6, SMALLER),
        *many.latencies("µs"),
        many.client_load,
    ]


@contextmanager
def _connections(peer: BenchPeer, scram_port: int) -> Iterator[tuple[Wire, Wire]]:
    """Yield a connection of the SCRAM user and one without login; close both at the end."""
    by_user, by_super = logged_in_by_scram(scram_port), Wire(peer.port)
    try:
        yield by_user, by_super
    finally:
        by_user.close()
        by_super.close()


def requests(wire: Wire, frame: bytes) -> Load:
    """Return a load that sends the frame again after each answer; a unit is a request."""

    def load(seconds: float) -> WindowResult:
        clock, trips = time.perf_counter, list[float]()
        began = sent = clock()
        while not trips or sent < began + seconds:
            wire.socket.sendall(frame)
            wire.skip_response()
            now = clock()
            trips.append(now - sent)
            sent = now
        return WindowResult(len(trips), trips, sent - began)

    return load


def checked(load: Load, position: Callable[[], int], *, counts: bool) -> Load:
    """Return a load that fails if the broker refused some of its requests."""

    def run(seconds: float) -> WindowResult:
        """Run the load. Raises RuntimeError if the position did not advance by all its units."""
        before = position()
        done = load(seconds)
        advance = position() - before
        if counts and advance != done.units:
            raise RuntimeError("some of the measured requests were refused")
        return done

    return run


def _scenario(name: str, title: str, run: Callable[[BenchPeer, float], list[Figure]]) -> Scenario:
    return Scenario(name, "security", title, CLIENT, 1, 1, run, secured=True)


SCENARIOS = [
    _scenario("acls-metadata", "Metadata of ten topics beside 1,000 ACLs", metadata),
    _scenario("acls-single-1", "one 100-byte record a request beside 1,000 ACLs", single),
]
