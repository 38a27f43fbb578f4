"""ACLs in the metadata log, as people read them: `ottla dump-log --records`.

Owns: the text of a record that writes or removes an ACL. Nothing in them is secret.
"""

from __future__ import annotations

from controller.metadata.acl import acl_of
from controller.metadata.records import (
    FRAME_VERSION,
    MetadataRecordError,
    decode_record,
    record_name,
)
from protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from protocol.primitives import uuid_to_string

_BEGINNINGS = tuple(
    bytes((FRAME_VERSION, record.API_KEY))
    for record in (AccessControlEntryRecord, RemoveAccessControlEntryRecord)
)


def acl_text(value: bytes) -> str | None:
    """What the record in `value` says; None where it is about no ACL."""
    if not value.startswith(_BEGINNINGS):
        return None
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    text = f"{record_name(record)} id: {uuid_to_string(record.id)}"
    if isinstance(record, AccessControlEntryRecord):
        acl = str(acl_of(record))
        # Names are whatever a client sent, and would act on a terminal.
        text += f" {acl if acl.isprintable() else repr(acl)}"
    return text
