"""Metadata records that hold secrets, as people may see them: `ottla dump-log --records`.

A SCRAM credential is shown by its user and mechanism. From its salt and keys a password can be
guessed, one try after the other, so these are shown to nobody.

Owns: which records these are. Never: hides what is not a metadata record.
"""

from __future__ import annotations

from controller.metadata.records import (
    FRAME_VERSION,
    MetadataRecordError,
    decode_record,
    record_name,
)
from controller.metadata.scram_credential import ScramMechanism
from protocol.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

_BEGINNINGS = tuple(
    bytes((FRAME_VERSION, record.API_KEY))
    for record in (UserScramCredentialRecord, RemoveUserScramCredentialRecord)
)


def shown_instead(value: bytes) -> str | None:
    """What stands for the record in `value`; None where all of it may be shown."""
    if not value.startswith(_BEGINNINGS):
        return None
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    known = [one.mechanism_name for one in ScramMechanism if one == record.mechanism]
    mechanism = known[0] if known else str(record.mechanism)
    shown = f"{record_name(record)} name: {record.name} mechanism: {mechanism}"
    if isinstance(record, UserScramCredentialRecord):
        shown += f" iterations: {record.iterations} (salt and keys are not shown)"
    return shown
