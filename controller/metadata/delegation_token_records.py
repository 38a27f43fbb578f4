"""Delegation tokens in the metadata log, as people read them: `ottla dump-log --records`.

Owns: the text of a record that writes or removes one. Nothing in them is secret: nobody logs in by
a token's id alone.
"""

from __future__ import annotations

from controller.metadata.records import (
    FRAME_VERSION,
    MetadataRecordError,
    decode_record,
    record_name,
)
from protocol.messages.metadata_records import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)

_BEGINNINGS = tuple(
    bytes((FRAME_VERSION, record.API_KEY))
    for record in (DelegationTokenRecord, RemoveDelegationTokenRecord)
)


def token_text(value: bytes) -> str | None:
    """What the record in `value` says; None where it is about no token."""
    if not value.startswith(_BEGINNINGS):
        return None
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    text = f"{record_name(record)} id: {_shown(record.token_id)}"
    if isinstance(record, DelegationTokenRecord):
        renewers = ", ".join(record.renewers) or "nobody"
        text += (
            f" owner: {_shown(record.owner)} requester: {_shown(record.requester)}"
            f" renewers: {_shown(renewers)} issued: {record.issue_timestamp}"
            f" expires: {record.expiration_timestamp} at most: {record.max_timestamp}"
        )
    return text


def _shown(name: str) -> str:
    """Names are whatever a client sent, and would act on a terminal."""
    return name if name.isprintable() else repr(name)
