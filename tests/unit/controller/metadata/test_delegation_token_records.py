from __future__ import annotations

import pytest

from controller.metadata.delegation_token_records import token_text
from controller.metadata.records import MetadataRecord, encode_record
from protocol.messages import metadata_records as m


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            m.DelegationTokenRecord("User:a", "User:b", ["User:c", "User:d"], 1, 3, 2, "id"),
            "DelegationTokenRecord id: id owner: User:a requester: User:b "
            "renewers: User:c, User:d issued: 1 expires: 2 at most: 3",
        ),
        (
            m.DelegationTokenRecord("User:\x1b[2J", "User:b", [], 1, 3, 2, "id"),
            r"DelegationTokenRecord id: id owner: 'User:\x1b[2J' requester: User:b "
            "renewers: nobody issued: 1 expires: 2 at most: 3",
        ),
        (m.RemoveDelegationTokenRecord("id"), "RemoveDelegationTokenRecord id: id"),
        (m.TopicRecord("t", bytes(16)), None),
    ],
)
def test_a_token_is_shown_in_words(record: MetadataRecord, text: str | None) -> None:
    assert token_text(encode_record(record, 0)) == text


def test_what_is_no_record_is_none_of_it() -> None:
    cut_off = encode_record(m.DelegationTokenRecord(token_id="id"), 0)[:-3]
    for value in (b"", b"text", cut_off):
        assert token_text(value) is None
