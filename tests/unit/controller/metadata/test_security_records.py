from __future__ import annotations

import pytest

from controller.metadata.records import MetadataRecord, encode_record
from controller.metadata.security_records import replacement_text
from protocol.messages import metadata_records as m

ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"
ESCAPE = "\x1b[2J"


def credential(name: str, mechanism: int) -> m.UserScramCredentialRecord:
    return m.UserScramCredentialRecord(name, mechanism, b"salt", b"stored", b"server", 4096)


def acl(name: str, pattern: int = 3, operation: int = 3) -> m.AccessControlEntryRecord:
    return m.AccessControlEntryRecord(ID, 2, name, pattern, "User:a", "*", operation, 3)


def token(owner: str, renewers: list[str]) -> m.DelegationTokenRecord:
    return m.DelegationTokenRecord(owner, "User:b", renewers, 1, 3, 2, "id")


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            credential("alice", 2),
            "name: alice mechanism: SCRAM-SHA-512 iterations: 4096 (salt and keys are not shown)",
        ),
        (
            credential(ESCAPE, 7),
            r"name: '\x1b[2J' mechanism: 7 iterations: 4096 (salt and keys are not shown)",
        ),
        (m.RemoveUserScramCredentialRecord("bob", 1), "name: bob mechanism: SCRAM-SHA-256"),
        (acl("orders"), f"id: {ID_TEXT} ALLOW READ for User:a from * on TOPIC:LITERAL:orders"),
        (acl("žlu", 4, 2), f"id: {ID_TEXT} ALLOW ALL for User:a from * on TOPIC:PREFIXED:žlu"),
        (acl("t", 9, 99), f"id: {ID_TEXT} ALLOW 99 for User:a from * on TOPIC:9:t"),
        (
            acl(ESCAPE),
            rf"id: {ID_TEXT} 'ALLOW READ for User:a from * on TOPIC:LITERAL:\x1b[2J'",
        ),
        (m.RemoveAccessControlEntryRecord(ID), f"id: {ID_TEXT}"),
        (
            token("User:a", ["User:c", "User:d"]),
            "id: id owner: User:a requester: User:b renewers: User:c, User:d issued: 1 "
            "expires: 2 at most: 3",
        ),
        (
            token(f"User:{ESCAPE}", []),
            r"id: id owner: 'User:\x1b[2J' requester: User:b renewers: nobody issued: 1 "
            "expires: 2 at most: 3",
        ),
        (m.RemoveDelegationTokenRecord("id"), "id: id"),
    ],
)
def test_a_record_is_shown_in_words(record: MetadataRecord, text: str) -> None:
    assert replacement_text(encode_record(record, 0)) == f"{type(record).__name__} {text}"


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x01\x0b", b"\x01\x0b\x00text", b"text"])
def test_what_is_no_metadata_record_is_not_hidden(value: bytes) -> None:
    assert replacement_text(value) is None


@pytest.mark.parametrize("record", [credential("u", 1), acl("orders"), token("User:a", [])])
def test_one_that_is_cut_off_is_none(record: MetadataRecord) -> None:
    assert replacement_text(encode_record(record, 0)[:-3]) is None


def test_others_are_shown_as_they_are() -> None:
    assert replacement_text(encode_record(m.TopicRecord("t", bytes(16)), 0)) is None
