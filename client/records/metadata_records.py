"""Metadata records that `ottla dump-log` replaces by a text: those with a secret, and those whose
numbers mean nothing to a reader.

Handles dynamic configs of brokers, because the broker's keys say which are secret;
`controller.metadata.security_records` handles the others. A record is recognized by its content,
not by its file, because a segment may have been copied elsewhere. Prints nothing itself.
"""

from __future__ import annotations

from broker.config.keys import is_sensitive
from controller.metadata import security_records
from controller.metadata.image import ResourceType
from controller.metadata.records import FRAME_VERSION, MetadataRecordError, decode_record
from protocol.messages.metadata_records import ConfigRecord

_CONFIG = bytes((FRAME_VERSION, ConfigRecord.API_KEY))


def replacement_text(value: bytes) -> str | None:
    """Return the text that replaces the record in `value`; None if the record may be shown as it
    is, or cannot be decoded."""
    if not value.startswith(_CONFIG):
        return security_records.replacement_text(value)
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    if record.resource_type != ResourceType.BROKER or record.value is None:
        return None
    if not is_sensitive(record.name):
        return None
    return f"ConfigRecord broker: {record.resource_name} name: {record.name} value: [hidden]"
