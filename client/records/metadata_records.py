"""Records of the metadata that `ottla dump-log` prints in words: those that have a secret in them,
and those whose numbers tell nobody anything.

Dynamic configs of brokers here, since the broker knows which of its keys are secret; the others are
`controller.metadata.security_records`'. They are told by what they are, not by where they lie: a
segment may have been copied elsewhere. Prints nothing itself.
"""

from __future__ import annotations

from broker.config.keys import is_sensitive
from controller.metadata import security_records
from controller.metadata.image import ResourceType
from controller.metadata.records import FRAME_VERSION, MetadataRecordError, decode_record
from protocol.messages.metadata_records import ConfigRecord

_CONFIG = bytes((FRAME_VERSION, ConfigRecord.API_KEY))


def in_words(value: bytes) -> str | None:
    """What stands for the record in `value`; None where all of it may be shown as it is."""
    if not value.startswith(_CONFIG):
        return security_records.in_words(value)
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    if record.resource_type != ResourceType.BROKER or record.value is None:
        return None
    if not is_sensitive(record.name):
        return None
    return f"ConfigRecord broker: {record.resource_name} name: {record.name} value: [hidden]"
