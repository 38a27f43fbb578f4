"""What `ottla dump-log` prints in place of a secret."""

from __future__ import annotations

import pytest

from client.records.metadata_records import replacement_text
from controller.metadata.records import encode_record
from protocol.messages import metadata_records as m

HUSH = "hush"


@pytest.mark.parametrize(
    "record",
    [
        m.ConfigRecord(4, "1", "listener.name.x.ssl.keystore.password", HUSH),
        m.ConfigRecord(4, "1", "listener.name.x.plain.sasl.jaas.config", HUSH),
        m.ConfigRecord(4, "", "ssl.key.password", HUSH),
        m.ConfigRecord(4, "1", "of.some.plugin", HUSH),
        m.UserScramCredentialRecord("u", 1, HUSH.encode(), HUSH.encode(), HUSH.encode(), 4096),
    ],
)
def test_a_secret_is_not_shown(record: object) -> None:
    shown = replacement_text(encode_record(record, 0))
    assert shown is not None
    assert HUSH not in shown and HUSH.encode().hex() not in shown


def test_what_is_no_secret_is_shown_as_it_is() -> None:
    topic = m.ConfigRecord(2, "t", "retention.ms", "1")
    number = m.ConfigRecord(4, "1", "listener.name.x.ssl.client.auth", "none")
    removed = m.ConfigRecord(4, "1", "ssl.key.password", None)
    for record in (topic, number, removed):
        assert replacement_text(encode_record(record, 0)) is None
    assert replacement_text(b"any text") is None
    cut_off = encode_record(m.ConfigRecord(4, "1", "ssl.key.password", ""), 0)[:-1]
    assert replacement_text(cut_off) is None
