"""X1: every API before it is known who is there, 20,000 frames over 2,000 connections.

Behind the first frame that does not belong come nine more: none of them is looked at. What is
answered is what Apache Kafka answers: ApiVersions once, SaslHandshake, then one refusal in the
request's own shape.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests import certificates
from tests.chaos.secured.conftest import Siege
from tests.chaos.secured.secured_broker import USER, tls_of
from tests.chaos.secured.storm import answers_in, storm
from tests.chaos.witness import frame, request_head
from tests.clients.wire_client import WireClient
from tests.golden.traffic import TRAFFIC, mutation
from tests.messages.length_fields import recorded
from tests.messages.message_values import case, cases

CONNECTIONS, OVER_TLS = 1_800, 200
FRAMES = 10
"""Of each connection: with those over TLS, 20,000."""
TOPIC = "taken"
REFUSALS = {int(ErrorCode.ILLEGAL_SASL_STATE), int(ErrorCode.SASL_AUTHENTICATION_FAILED), 0}
"""And 0 of versions that have no place for a code."""
OUR_OWN = {"ApiVersions", "Metadata", "Produce"}
"""What may be asked before a login, and what the bystander and this test ask for."""


@dataclass(frozen=True)
class Frame:
    """A request; `key` is None for one that there is not."""

    data: bytes
    key: ApiKey | None = None
    version: int = 0


VERSIONS = Frame(encode_request(ApiVersionsRequest("x", "1"), 3, 1, "x"), ApiKey.API_VERSIONS, 3)
NAMED = Frame(encode_request(SaslHandshakeRequest("PLAIN"), 1, 2, "x"), ApiKey.SASL_HANDSHAKE, 1)
NAMED_V0 = Frame(encode_request(SaslHandshakeRequest("PLAIN"), 0, 2, "x"), ApiKey.SASL_HANDSHAKE)
WRONG = Frame(
    encode_request(SaslAuthenticateRequest(f"\0{USER}\0wrong".encode()), 2, 3, "x"),
    ApiKey.SASL_AUTHENTICATE,
    2,
)


def pool(rng: random.Random) -> list[Frame]:
    """Requests of every API in its first and its last version, and some that are none."""
    found = []
    known = {one.name for one in cases()}
    for key in ApiKey:
        message = messages_of(key).request
        if message.__name__ not in known:  # of the times of ZooKeeper
            found.append(Frame(frame(request_head(key, 0) + bytes(20))))
            continue
        for version in {message.MIN_VERSION, message.MAX_VERSION}:
            head = request_head(key, version, flexible=version >= message.FLEXIBLE_FROM)
            for kind in ("defaults", "random-1"):
                body, _ = recorded(case(message.__name__).instance(version, kind), version)
                found.append(Frame(frame(head + body), key, version))
    topic = CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], 10_000)
    found += [Frame(encode_request(topic, 7, 4, "x"), ApiKey.CREATE_TOPICS, 7)] * 20
    found += [Frame(frame(request_head(9_999, 0) + bytes(20)))] * 5
    for path in rng.sample(TRAFFIC, 20):
        other = rng.choice(TRAFFIC).read_bytes()
        found.append(_read(frame(mutation(rng, path.read_bytes(), other))))
    return found


def _read(data: bytes) -> Frame:
    """With the API and version that stand in it."""
    key = int.from_bytes(data[4:6], signed=True)
    known = key in list(ApiKey)
    return Frame(data, ApiKey(key) if known else None, int.from_bytes(data[6:8], signed=True))


def is_no_login(one: Frame) -> bool:
    return int.from_bytes(one.data[4:6]) not in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)


def conversations(rng: random.Random, count: int) -> Iterator[tuple[list[Frame], list[Frame]]]:
    """What is sent, and those of it that may be answered."""
    every = pool(rng)
    strangers = [one for one in every if is_no_login(one)]
    for number in range(count):
        first = strangers[number % len(strangers)]
        begins: list[list[Frame]] = [[], [VERSIONS], [VERSIONS, NAMED], [NAMED_V0], [NAMED, WRONG]]
        begin = begins[number // len(strangers) % len(begins)]
        sent = [*begin, first]
        sent += rng.choices(every, k=FRAMES - len(sent))
        refused = [first] if begin == [VERSIONS, NAMED] else []
        yield sent, [*begin, *refused]


def codes_of(answer: Any) -> set[int]:
    """Every error code in an answer."""
    found = set()
    for name in answer.__slots__:
        value = getattr(answer, name)
        if name == "error_code":
            found.add(value)
        for one in value if isinstance(value, list) else ():
            if hasattr(one, "__slots__"):
                found |= codes_of(one)
    return found


def check(sent: list[Frame], answered: list[Frame], received: bytes) -> None:
    answers = answers_in(received)
    assert len(answers) <= len(answered), (sent, received)
    # A refusal has no answer where the request cannot be read, or its API has none.
    must = answered[:-1] if len(answered) == 3 else answered
    assert len(answers) >= len(must), (sent, received)
    for asked, answer in zip(answered, answers, strict=False):
        assert asked.key is not None
        _, said = decode_response(asked.key, memoryview(answer), asked.version)
        if asked in (VERSIONS, NAMED, NAMED_V0):
            assert said.error_code == 0
        else:
            assert codes_of(said) <= REFUSALS, (asked, said)


def handled(siege: Siege) -> dict[str, float]:
    return {name: n for name, n in siege.broker.handled().items() if name not in OUR_OWN}


def topics(siege: Siege) -> set[str]:
    with WireClient(siege.ports["PLAINTEXT"]) as client:
        return {topic.name for topic in client.call(MetadataRequest(None), 9).topics}


@pytest.mark.timeout(300)
def test_nothing_is_handled_before_a_login(siege: Siege) -> None:
    before, there = handled(siege), topics(siege)
    rng = random.Random(35)
    for port, count, tls in (
        (siege.ports["SASL"], CONNECTIONS, None),
        (siege.ports["BOTH"], OVER_TLS, tls_of(None)),
    ):
        made = list(conversations(rng, count * siege.times))
        came = storm(port, [b"".join(one.data for one in sent) for sent, _ in made], tls)
        for (sent, answered), received in zip(made, came, strict=True):
            check(sent, answered, received)
    assert handled(siege) == before
    assert topics(siege) == there


def test_nothing_is_handled_without_a_certificate(siege: Siege) -> None:
    """In TLS 1.3 a client is done before the broker has seen that it shows none."""
    before, there = handled(siege), topics(siege)
    rng = random.Random(36)
    every = pool(rng)
    sent = [b"".join(one.data for one in rng.choices(every, k=FRAMES)) for _ in range(40)]
    for identity in (None, certificates.wrong("self-signed")):
        assert set(storm(siege.ports["REQUIRED"], sent, tls_of(identity))) == {b""}
    assert handled(siege) == before
    assert topics(siege) == there
