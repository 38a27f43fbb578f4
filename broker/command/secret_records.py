"""Records of the metadata that have a secret in them, as `ottla dump-log` may print them.

Dynamic configs of brokers here, since the broker knows which of its keys are secret; the others are
`controller.metadata.secret_records`'. They are told by what they are, not by where they lie: a
segment may have been copied elsewhere. Prints nothing itself.
"""

from __future__ import annotations

from broker.config.keys import is_sensitive
from controller.metadata.image import ResourceType
from controller.metadata.records import FRAME_VERSION, MetadataRecordError, decode_record
from controller.metadata.secret_records import shown_instead
from protocol.messages.metadata_records import ConfigRecord

_CONFIG = bytes((FRAME_VERSION, ConfigRecord.API_KEY))


def without_secret(value: bytes) -> str | None:
    """What stands for the record in `value`; None where all of it may be shown."""
    if not value.startswith(_CONFIG):
        return shown_instead(value)
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    if record.resource_type != ResourceType.BROKER or record.value is None:
        return None
    if not is_sensitive(record.name):
        return None
    return f"ConfigRecord broker: {record.resource_name} name: {record.name} value: [hidden]"
