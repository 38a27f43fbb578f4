from __future__ import annotations

import pytest

from controller.metadata.acl_records import acl_text
from controller.metadata.records import MetadataRecord, encode_record
from protocol.messages import metadata_records as m

ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def entry(name: str, pattern: int = 3, operation: int = 3) -> m.AccessControlEntryRecord:
    return m.AccessControlEntryRecord(ID, 2, name, pattern, "User:a", "*", operation, 3)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (entry("orders"), "ALLOW READ for User:a from * on TOPIC:LITERAL:orders"),
        (entry("žlu", 4, 2), "ALLOW ALL for User:a from * on TOPIC:PREFIXED:žlu"),
        (entry("t", 9, 99), "ALLOW 99 for User:a from * on TOPIC:9:t"),
        (entry("a\x1b[2J"), r"'ALLOW READ for User:a from * on TOPIC:LITERAL:a\x1b[2J'"),
    ],
)
def test_an_acl_is_shown_in_words(record: MetadataRecord, text: str) -> None:
    shown = f"AccessControlEntryRecord id: {ID_TEXT} {text}"
    assert acl_text(encode_record(record, 0)) == shown


def test_one_that_is_removed_is_shown_by_its_id() -> None:
    removed = m.RemoveAccessControlEntryRecord(ID)
    assert acl_text(encode_record(removed, 0)) == f"RemoveAccessControlEntryRecord id: {ID_TEXT}"


def test_what_is_about_no_acl_is_none_of_it() -> None:
    cut_off = encode_record(entry("orders"), 0)[:-3]
    for value in (b"", b"text", encode_record(m.TopicRecord("t", bytes(16)), 0), cut_off):
        assert acl_text(value) is None
