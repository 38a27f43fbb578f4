"""What a broker says to one who logs in: raw frames, as Apache Kafka answered them.

`python -m tests.golden.sasl_record` records `sasl_conversations_kafka.json` anew from a real
broker; `tests/unit/broker/security/sasl/test_authenticator_kafka.py` gives the same frames to
Ottla's authenticator, with the nonces that are in the recording.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import ProduceRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.golden.sasl_talk import Scram, Talk

RECORDED = Path(__file__).parent / "sasl_conversations_kafka.json"

REAUTH_MS = 3_000
MAX_RECEIVE_BYTES = 524_288
GOOD = b"\0alice\0alice-secret"
VERSIONS = ApiVersionsRequest("sasl-cases", "1.0")
METADATA = MetadataRequest([])

CLUSTER, NODE = "c2FzbC1jYXNlcy1rYWZrYQ", 1
"""The cluster id and node id of the broker that is recorded."""
DESTINATIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "this node": {"cluster_id": CLUSTER, "node_id": NODE},
    "another cluster": {"cluster_id": "another", "node_id": NODE},
    "another node": {"cluster_id": CLUSTER, "node_id": 77},
    "only a cluster": {"cluster_id": CLUSTER},
    "only a node": {"node_id": NODE},
}
"""What a client means by its ApiVersions v5 (KIP-1242)."""

Step = Callable[[Talk], None]
Case = tuple[str, str, Step]
"""Name, listener (SASL, REAUTH, PLAINTEXT), what is done."""


def _closes(step: Callable[[Talk], Any]) -> Step:
    """And then, is it closed?"""

    def run(talk: Talk) -> None:
        step(talk)
        talk.is_closed()

    return run


# --- before a mechanism is chosen -----------------------------------------------------------------


def _everything(handshake: int, authenticate: int) -> Step:
    def run(talk: Talk) -> None:
        talk.request(VERSIONS, 3)
        talk.handshake("PLAIN", handshake)
        talk.token(GOOD, authenticate)
        talk.request(METADATA, 12)
        talk.handshake("PLAIN", 1)
        talk.handshake("PLAIN", 0)
        talk.handshake("NONE", 1)
        talk.token(GOOD, authenticate)
        talk.request(VERSIONS, 3)
        talk.is_closed()

    return run


def _requests(*requests: tuple[Any, int]) -> Step:
    def run(talk: Talk) -> None:
        for request, version in requests:
            if talk.request(request, version) is None:
                break
        talk.is_closed()

    return run


def _meaning(destination: dict[str, Any]) -> Step:
    """ApiVersions v5 before the login, a right one after an error, the login, and v5 again."""
    software = (VERSIONS.client_software_name, VERSIONS.client_software_version)

    def run(talk: Talk) -> None:
        answer = talk.request(ApiVersionsRequest(*software, **destination), 5)
        if answer is not None and any(answer[4:6]):
            talk.request(ApiVersionsRequest(*software, CLUSTER, NODE), 5)
        _login(talk)
        talk.request(ApiVersionsRequest(*software, **destination), 5)
        talk.is_closed()

    return run


def _unsupported_versions(talk: Talk) -> None:
    """A client newer than the broker asks again (KIP-511)."""
    frame = bytearray.fromhex("0012006300000001000000")
    talk.frame(bytes(frame))
    talk.request(VERSIONS, 3)
    talk.handshake("PLAIN")
    talk.token(GOOD)
    talk.is_closed()


def _unsupported_twice(talk: Talk) -> None:
    frame = bytes.fromhex("0012006300000001000000")
    if talk.frame(frame) is not None:
        talk.frame(frame)
    talk.is_closed()


def _beginnings() -> list[Case]:
    wrong_software = ApiVersionsRequest("-", "")
    head = "0000000000010000"
    frames = {
        "a raw token": GOOD,
        "an empty frame": b"",
        "three bytes": b"abc",
        "an unknown API": bytes.fromhex("03e7" + head),
        "handshake v2": bytes.fromhex("00110002000000010000") + b"\0\x05PLAIN",
        "handshake v-1": bytes.fromhex("0011ffff000000010000") + b"\0\x05PLAIN",
        "handshake without body": bytes.fromhex("00110001000000010000"),
        "handshake of null": bytes.fromhex("00110001000000010000ffff"),
        "handshake with more behind": bytes.fromhex("00110001000000010000") + b"\0\x05PLAINmore",
        "versions with more behind": bytes.fromhex("0012000000000001000061"),
        "versions v-1": bytes.fromhex("0012ffff000000010000"),
        "versions v3 without body": bytes.fromhex("001200030000000100"),
    }
    raw = {
        "a negative size": b"\xff\xff\xff\xff",
        "a size above the limit": (MAX_RECEIVE_BYTES + 1).to_bytes(4),
    }
    return [
        ("v1, v2", "SASL", _everything(1, 2)),
        ("v1, v1", "SASL", _everything(1, 1)),
        ("v1, v0", "SASL", _everything(1, 0)),
        ("versions twice", "SASL", _requests((VERSIONS, 3), (VERSIONS, 3))),
        ("versions v0 twice", "SASL", _requests((VERSIONS, 0), (VERSIONS, 0))),
        ("versions unsupported", "SASL", _unsupported_versions),
        ("versions unsupported twice", "SASL", _unsupported_twice),
        (
            "versions of no software",
            "SASL",
            _requests((wrong_software, 3), (VERSIONS, 3), (VERSIONS, 3)),
        ),
        ("metadata first", "SASL", _requests((METADATA, 12))),
        ("metadata second", "SASL", _requests((VERSIONS, 3), (METADATA, 12))),
        ("authenticate first", "SASL", _requests((SaslAuthenticateRequest(GOOD), 2))),
        (
            "authenticate second",
            "SASL",
            _requests((VERSIONS, 3), (SaslAuthenticateRequest(GOOD), 2)),
        ),
        *(
            (f"first: {name}", "SASL", _closes(lambda talk, frame=frame: talk.frame(frame)))
            for name, frame in frames.items()
        ),
        *(
            (f"first: {name}", "SASL", _closes(lambda talk, data=data: talk.raw(data)))
            for name, data in raw.items()
        ),
        *(
            (
                f"mechanism {name!r} v{version}",
                "SASL",
                _closes(lambda talk, name=name, version=version: talk.handshake(name, version)),
            )
            for name, version in (
                ("GSSAPI", 1),
                ("OAUTHBEARER", 1),
                ("plain", 1),
                ("", 1),
                ("NONE", 0),
                ("x" * 300, 1),
            )
        ),
        ("plaintext: handshake", "PLAINTEXT", _plaintext),
    ]


def _meant_nodes() -> list[Case]:
    return [
        (f"versions v5 that mean {name}", "SASL", _meaning(destination))
        for name, destination in DESTINATIONS.items()
    ]


def _plaintext(talk: Talk) -> None:
    talk.request(VERSIONS, 3)
    for version in (0, 1):
        talk.handshake("PLAIN", version)
    for version in (0, 1, 2):
        talk.token(GOOD, version)
    talk.is_closed()


# --- after it -------------------------------------------------------------------------------------


def _after_handshake(step: Callable[[Talk], Any]) -> Step:
    def run(talk: Talk) -> None:
        talk.handshake("PLAIN", 1)
        step(talk)
        talk.is_closed()

    return run


def _after_handshake_cases() -> list[Case]:
    requests = {
        "versions v0": (VERSIONS, 0),
        "versions v3": (VERSIONS, 3),
        "metadata v12": (MetadataRequest([MetadataRequestTopic(name="foo")]), 12),
        "metadata v1": (MetadataRequest([MetadataRequestTopic(name="foo")]), 1),
        "produce": (ProduceRequest(None, 1, 1000, []), 12),
        "produce without answer": (ProduceRequest(None, 0, 1000, []), 12),
        "fetch": (FetchRequest(max_wait_ms=0, topics=[]), 12),
        "find coordinator": (FindCoordinatorRequest("g"), 2),
        "init producer id": (InitProducerIdRequest(None, 1000), 4),
        "list groups": (ListGroupsRequest(), 4),
    }
    frames = {
        "a raw token": GOOD,
        "an empty frame": b"",
        "authenticate v3": bytes.fromhex("00240003000000010000") + b"\0\x01\0",
        "an unknown API": bytes.fromhex("03e70000000000010000"),
        "a malformed token": bytes.fromhex("00240001000000010000") + b"\0\0\xff\xff",
        "a null token": bytes.fromhex("00240001000000010000") + b"\xff\xff\xff\xff",
        "metadata that is none": bytes.fromhex("00030001000000010000") + b"\0\0\xff\xff",
        "metadata of an unknown version": bytes.fromhex("00030063000000010000") + b"\0\0",
    }
    cases: list[Case] = [
        (
            f"then {name}",
            "SASL",
            _after_handshake(lambda talk, one=one: talk.request(*one)),
        )
        for name, one in requests.items()
    ]
    cases += [
        (f"then {name}", "SASL", _after_handshake(lambda talk, one=one: talk.frame(one)))
        for name, one in frames.items()
    ]
    cases += [
        (
            f"then handshake v{version}",
            "SASL",
            _after_handshake(lambda talk, version=version: talk.handshake("PLAIN", version)),
        )
        for version in (0, 1)
    ]
    limit = (MAX_RECEIVE_BYTES + 1).to_bytes(4)
    cases.append(("then a size above the limit", "SASL", _after_handshake(lambda t: t.raw(limit))))
    return cases


# --- PLAIN ----------------------------------------------------------------------------------------

PLAIN_TOKENS = {
    "good": GOOD,
    "unknown user": b"\0nobody\0alice-secret",
    "wrong password": b"\0alice\0wrong",
    "another's password": b"\0alice\0bob-secret",
    "password in capitals": b"\0alice\0ALICE-SECRET",
    "password and more": b"\0alice\0alice-secret1",
    "user in capitals": b"\0ALICE\0alice-secret",
    "no user": b"\0\0alice-secret",
    "no password": b"\0alice\0",
    "neither": b"\0\0",
    "same authorization id": b"alice\0alice\0alice-secret",
    "other authorization id": b"bob\0alice\0alice-secret",
    "other authorization id, wrong password": b"bob\0alice\0wrong",
    "one part": b"alice",
    "two parts": b"alice\0alice-secret",
    "four parts": b"\0alice\0alice-secret\0",
    "five parts": b"\0alice\0alice-secret\0\0",
    "ten parts": b"\0alice\0alice-secret" + b"\0" * 7,
    "nothing": b"",
    "umlauts": "\0ä\0pässword".encode(),
    "umlauts in latin-1": "\0ä\0pässword".encode("latin-1"),
    "no utf-8": b"\0alice\0alice-secret\xff",
    "an empty password that is configured": b"\0empty\0",
    "the broker's own": b"\0admin\0admin-secret",
    "blanks": b"\0 alice\0alice-secret",
    "the name of another option": b"\0username\0admin",
}


def _plain(token: bytes, version: int) -> Step:
    def run(talk: Talk) -> None:
        talk.handshake("PLAIN", 1)
        talk.token(token, version)
        talk.is_closed()

    return run


def _plain_bare(token: bytes, request: bool) -> Step:
    def run(talk: Talk) -> None:
        talk.handshake("PLAIN", 0)
        if talk.frame(token) is not None and request:
            talk.request(METADATA, 12)
            talk.handshake("PLAIN", 1)
            talk.token(GOOD)
        talk.is_closed()

    return run


def _plain_cases() -> list[Case]:
    cases = [(f"PLAIN {name}", "SASL", _plain(token, 2)) for name, token in PLAIN_TOKENS.items()]
    cases += [
        (f"PLAIN wrong password v{version}", "SASL", _plain(b"\0alice\0wrong", version))
        for version in (0, 1)
    ]
    bare = {
        "good": GOOD,
        "wrong password": b"\0alice\0wrong",
        "nothing": b"",
        "two parts": b"a\0b",
        "a request": bytes.fromhex("00240001000000010000") + b"\0\0\0\0",
    }
    return cases + [
        (f"bare PLAIN {name}", "SASL", _plain_bare(token, True)) for name, token in bare.items()
    ]


# --- SCRAM ----------------------------------------------------------------------------------------


def _scram(
    first: str,
    password: str = "alice-secret",
    mechanism: str = "SCRAM-SHA-256",
    version: int | None = 2,
    listener: str = "SASL",
    more: bool = False,
    **wrong: Any,
) -> tuple[str, Step]:
    def run(talk: Talk) -> None:
        talk.handshake(mechanism, 0 if version is None else 1)
        scram = Scram(talk, mechanism, version)
        if scram.first(first) is not None and scram.server_first:
            changes = {key: one(scram) if callable(one) else one for key, one in wrong.items()}
            if scram.final(password, **changes) is not None and more:
                talk.token(b"") if version is not None else talk.request(METADATA, 12)
        talk.is_closed()

    return listener, run


GOOD_FIRST = "n,,n=alice,r=abc"
# Two extensions are not among them: Kafka lets such a client in, or not, by the order of a map.
FIRSTS = {
    "good": GOOD_FIRST,
    "same authorization id": "n,a=alice,n=alice,r=abc",
    "other authorization id": "n,a=bob,n=alice,r=abc",
    "empty authorization id": "n,a=,n=alice,r=abc",
    "unknown user": "n,,n=nobody,r=abc",
    "unknown user, other authorization id": "n,a=bob,n=nobody,r=abc",
    "user of the other mechanism": "n,,n=bob,r=abc",
    "no user": "n,,n=,r=abc",
    "no nonce": "n,,n=alice,r=",
    "no nonce field": "n,,n=alice",
    "y": "y,,n=alice,r=abc",
    "channel binding": "p=tls-unique,,n=alice,r=abc",
    "capital N": "N,,n=alice,r=abc",
    "no gs2 header": "n=alice,r=abc",
    "reserved": "n,,m=ext,n=alice,r=abc",
    "an extension": "n,,n=alice,r=abc,x=y",
    "an extension without value": "n,,n=alice,r=abc,x=",
    "an extension with a number": "n,,n=alice,r=abc,x1=y",
    "a comma at the end": "n,,n=alice,r=abc,",
    "tokenauth": "n,,n=alice,r=abc,tokenauth=true",
    "tokenauth in capitals": "n,,n=alice,r=abc,tokenauth=TRUE",
    "no tokenauth": "n,,n=alice,r=abc,tokenauth=false",
    "tokenauth of another": "n,,n=alice,r=abc,tokenauth=1",
    "name with an equals sign": "n,,n=ali=ce,r=abc",
    "name with =2c": "n,,n=a=2cb=3Dc,r=abc",
    "umlaut": "n,,n=ä,r=abc",
    "NUL in the name": "n,,n=al\0ice,r=abc",
    "control character in the name": "n,,n=al\x01ice,r=abc",
    "DEL in the name": "n,,n=al\x7fice,r=abc",
    "blank in the nonce": "n,,n=alice,r=a bc",
    "equals sign in the nonce": "n,,n=alice,r=a=bc",
    "umlaut in the nonce": "n,,n=alice,r=aä",
    "umlaut in an extension": "n,,n=alice,r=abc,x=ä",
    "NUL in an extension": "n,,n=alice,r=abc,x=\0",
    "a line feed behind": "n,,n=alice,r=abc\n",
    "a line feed in the name": "n,,n=al\nice,r=abc",
    "nothing": "",
    "garbage": "\x00\x01\x02",
    "the final message": "c=biws,r=abc,p=AAAA",
}

FINALS: dict[str, dict[str, Any]] = {
    "wrong channel": {"channel": "eSws"},
    "channel that is no base64": {"channel": "biw"},
    "channel of nothing": {"channel": ""},
    "wrong nonce": {"nonce": lambda s: s.nonce + "x"},
    "the client's nonce alone": {"nonce": "abc"},
    "a replayed nonce": {"nonce": "abcAAAAAAAAAAAAAAAAAAAAAAAA"},
    "the server's nonce after another": {"nonce": lambda s: "xyz" + s.nonce},
    "the server's part alone": {"nonce": lambda s: s.nonce.removeprefix("abc")},
    "an extension": {"extensions": ",x=y"},
    "an extension, not signed": {"extensions": ",x=y", "signed_extensions": ""},
    "an extension without value": {"extensions": ",x="},
    "no proof": {"proof": b""},
    "a short proof": {"proof": b"abc"},
    "a long proof": {"proof": b"a" * 64},
    "proof of zeros": {"proof": bytes(32)},
    "no proof field": {"message": "c=biws,r=abc"},
    "proof that is no base64": {"message": lambda s: f"c=biws,r={s.nonce},p=!!!!"},
    "proof with bits behind": {"message": lambda s: f"c=biws,r={s.nonce},p=AB=="},
    "more behind the proof": {"message": lambda s: f"c=biws,r={s.nonce},p=AAAA,x=y"},
    "first message again": {"message": GOOD_FIRST},
    "nothing": {"message": ""},
}


def _scram_cases() -> list[Case]:
    cases: list[Case] = [(f"SCRAM {name}", *_scram(first)) for name, first in FIRSTS.items()]
    cases.append(
        ("SCRAM name with =2C and =3D", *_scram("n,,n=a=2Cb=3Dc,r=abc", "comma")),
    )
    cases.append(
        (
            "SCRAM authorization id with =2C and =3D",
            *_scram("n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=abc", "comma", channel="bixhPWE9MkNiPTNEYyw="),
        ),
    )
    cases.append(
        (
            "SCRAM same authorization id, bound",
            *_scram(FIRSTS["same authorization id"], channel="bixhPWFsaWNlLA=="),
        )
    )
    cases.append(("SCRAM with a password of umlauts", *_scram("n,,n=utf,r=abc", "pässword")))
    for version in (0, 1, None):
        cases.append((f"SCRAM good v{version}", *_scram(GOOD_FIRST, version=version, more=True)))
        cases.append(
            (f"SCRAM wrong password v{version}", *_scram(GOOD_FIRST, "no", version=version))
        )
    sha512 = {"mechanism": "SCRAM-SHA-512", "password": "bob-secret"}
    cases.append(("SCRAM-SHA-512 good", *_scram("n,,n=bob,r=abc", **sha512)))
    cases.append(("SCRAM-SHA-512 and on", *_scram("n,,n=bob,r=abc", more=True, **sha512)))
    cases.append(("SCRAM-SHA-512 wrong", *_scram("n,,n=bob,r=abc", "x", "SCRAM-SHA-512")))
    cases.append(("SCRAM-SHA-512 unknown", *_scram("n,,n=alice,r=abc", "x", "SCRAM-SHA-512")))
    cases += [
        (f"SCRAM final: {name}", *_scram(GOOD_FIRST, more=True, **wrong))
        for name, wrong in FINALS.items()
    ]
    return cases


# --- again (KIP-368) ------------------------------------------------------------------------------


def _login(talk: Talk, version: int = 2, mechanism: str = "PLAIN", token: bytes = GOOD) -> None:
    talk.handshake(mechanism)
    talk.token(token, version)


def _again(*then: Callable[[Talk], Any]) -> Step:
    def run(talk: Talk) -> None:
        _login(talk)
        for one in then:
            one(talk)
        talk.request(METADATA, 12)
        talk.is_closed()

    return run


def _shake(name: str, version: int = 1) -> Callable[[Talk], Any]:
    return lambda talk: talk.handshake(name, version)


def _say(token: bytes, version: int = 2) -> Callable[[Talk], Any]:
    return lambda talk: talk.token(token, version)


def _wait(ms: int) -> Callable[[Talk], Any]:
    return lambda talk: talk.wait(ms)


def _ask(request: Any, version: int) -> Callable[[Talk], Any]:
    return lambda talk: talk.request(request, version)


def _scram_login(
    first: str, password: str = "alice-secret", only: bool = False
) -> Callable[[Talk], Any]:
    def run(talk: Talk) -> None:
        one = Scram(talk, "SCRAM-SHA-256")
        if one.first(first) is not None and one.server_first and not only:
            one.final(password)

    return run


def _by_scram(second: Callable[[Talk], Any]) -> Step:
    def run(talk: Talk) -> None:
        for step in (_scram_login("n,,n=alice,r=abc"), second):
            talk.handshake("SCRAM-SHA-256")
            step(talk)
        talk.request(METADATA, 12)
        talk.is_closed()

    return run


def _again_cases() -> list[Case]:
    plain = _shake("PLAIN")
    cases: dict[str, list[Callable[[Talk], Any]]] = {
        "the same": [plain, _say(GOOD)],
        "the same, v1": [plain, _say(GOOD, 1)],
        "the same, v0": [plain, _say(GOOD, 0)],
        "twice at once": [plain, _say(GOOD), plain, _say(GOOD)],
        "twice": [plain, _say(GOOD), _wait(1_200), plain, _say(GOOD)],
        "wrong password": [plain, _say(b"\0alice\0wrong")],
        "malformed": [plain, _say(b"alice")],
        "another user": [plain, _say(b"\0bob\0bob-secret")],
        "another mechanism": [_shake("SCRAM-SHA-256"), _scram_login("n,,n=alice,r=abc", only=True)],
        "another mechanism, garbage": [_shake("SCRAM-SHA-512"), _say(b"")],
        "a mechanism that is not enabled": [_shake("GSSAPI")],
        "handshake twice": [plain, plain],
        "metadata between": [plain, _ask(METADATA, 12)],
        "versions between": [plain, _ask(VERSIONS, 3)],
        "authenticate alone": [_say(GOOD)],
        "handshake v0": [_shake("PLAIN", 0), lambda talk: talk.frame(GOOD)],
        "handshake v0, then v2": [_shake("PLAIN", 0), _say(GOOD)],
        "after the end": [_wait(REAUTH_MS + 300), plain, _say(GOOD)],
        "request after the end": [_wait(REAUTH_MS + 300)],
        "authenticate after the end": [_wait(REAUTH_MS + 300), _say(GOOD)],
        "versions after the end": [_wait(REAUTH_MS + 300), _ask(VERSIONS, 3)],
        "end between": [plain, _wait(REAUTH_MS + 300), _say(GOOD)],
        "renewed": [_wait(2_000), plain, _say(GOOD), _wait(2_000)],
    }
    found: list[Case] = [
        (f"again: {name}", "REAUTH", _again(*then)) for name, then in cases.items()
    ]

    found += [
        ("again: SCRAM", "REAUTH", _by_scram(_scram_login("n,,n=alice,r=abd"))),
        (
            "again: SCRAM wrong password",
            "REAUTH",
            _by_scram(_scram_login("n,,n=alice,r=abd", "no")),
        ),
        (
            "again: SCRAM another user",
            "REAUTH",
            _by_scram(_scram_login("n,,n=a=2Cb=3Dc,r=abd", "comma")),
        ),
        ("again: SCRAM garbage", "REAUTH", _by_scram(_say(b"garbage"))),
        ("again: bare, then end", "REAUTH", _bare_and_end),
        ("again: bare, then v1", "REAUTH", _bare_and_again),
    ]
    return found


def _bare_and_end(talk: Talk) -> None:
    talk.handshake("PLAIN", 0)
    talk.frame(GOOD)
    talk.request(METADATA, 12)
    talk.wait(REAUTH_MS + 300)
    talk.request(METADATA, 12)
    talk.is_closed()


def _bare_and_again(talk: Talk) -> None:
    talk.handshake("PLAIN", 0)
    talk.frame(GOOD)
    talk.handshake("PLAIN", 1)
    talk.token(GOOD)
    talk.request(METADATA, 12)
    talk.is_closed()


def cases() -> list[Case]:
    return [
        *_beginnings(),
        *_meant_nodes(),
        *_after_handshake_cases(),
        *_plain_cases(),
        *_scram_cases(),
        *_again_cases(),
    ]
