from __future__ import annotations

import pytest

from controller.metadata.records import MetadataRecord, encode_record
from controller.metadata.secret_records import shown_instead
from protocol.messages import metadata_records as m


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (
            m.UserScramCredentialRecord("alice", 2, b"salt", b"stored", b"server", 4096),
            "UserScramCredentialRecord name: alice mechanism: SCRAM-SHA-512 iterations: 4096 "
            "(salt and keys are not shown)",
        ),
        (
            m.UserScramCredentialRecord("alice", 7, b"salt", b"stored", b"server", 1),
            "UserScramCredentialRecord name: alice mechanism: 7 iterations: 1 "
            "(salt and keys are not shown)",
        ),
        (
            m.RemoveUserScramCredentialRecord("bob", 1),
            "RemoveUserScramCredentialRecord name: bob mechanism: SCRAM-SHA-256",
        ),
        (m.TopicRecord("t", bytes(16)), None),
    ],
)
def test_credentials_are_shown_without_what_is_secret(
    record: MetadataRecord, shown: str | None
) -> None:
    assert shown_instead(encode_record(record, 0)) == shown


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x01\x0b", b"\x01\x0b\x00text", b"text"])
def test_what_is_no_metadata_record_is_not_hidden(value: bytes) -> None:
    assert shown_instead(value) is None
