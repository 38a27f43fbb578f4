"""Users, ACLs and delegation tokens in the metadata log as readable text, for `ottla dump-log
--records`.

A SCRAM credential is shown by its user and mechanism. Its salt and keys allow guesses at the
password, so they are hidden. The other records contain no secret: a token's id does not allow a
login.

Owns: the text of each such record. Never: hides other records.
"""

from __future__ import annotations

from collections.abc import Callable

from controller.metadata.acl import acl_of
from controller.metadata.records import (
    FRAME_VERSION,
    MetadataRecord,
    MetadataRecordError,
    decode_record,
    record_name,
)
from controller.metadata.scram_credential import ScramMechanism
from protocol.messages import metadata_records as m
from protocol.primitives import uuid_to_string


def replacement_text(value: bytes) -> str | None:
    """Return the text that replaces the record of a user, an ACL or a token in `value`. None for
    any other record, or if it cannot be decoded."""
    if not value.startswith(_BEGINNINGS):
        return None
    try:
        record = decode_record(value)
    except MetadataRecordError:
        return None
    return f"{record_name(record)} {_WORDS[type(record)](record)}"


def _removed_credential_text(record: MetadataRecord) -> str:
    """Return the user and the mechanism of a credential's record as text."""
    names = [kind.mechanism_name for kind in ScramMechanism if kind == record.mechanism]
    mechanism = names[0] if names else str(record.mechanism)
    return f"name: {_shown(record.name)} mechanism: {mechanism}"


def _credential_text(record: MetadataRecord) -> str:
    """Return the user, mechanism and iterations of a credential's record as text, without the salt
    and the keys."""
    hidden = "(salt and keys are not shown)"
    return f"{_removed_credential_text(record)} iterations: {record.iterations} {hidden}"


def _removed_acl_text(record: MetadataRecord) -> str:
    return f"id: {uuid_to_string(record.id)}"


def _acl_text(record: MetadataRecord) -> str:
    """Return the id of an ACL's record and all fields of the ACL as text."""
    return f"{_removed_acl_text(record)} {_shown(str(acl_of(record)))}"


def _removed_token_text(record: MetadataRecord) -> str:
    return f"id: {_shown(record.token_id)}"


def _token_text(record: MetadataRecord) -> str:
    """Return all fields of a token's record as text; times are in milliseconds since the epoch."""
    renewers = ", ".join(record.renewers) or "nobody"
    return (
        f"{_removed_token_text(record)} owner: {_shown(record.owner)} requester: "
        f"{_shown(record.requester)} renewers: {_shown(renewers)} issued: {record.issue_timestamp}"
        f" expires: {record.expiration_timestamp} at most: {record.max_timestamp}"
    )


def _shown(name: str) -> str:
    """Return the name, or its `repr` if a character is not printable, because a terminal would obey
    control characters."""
    return name if name.isprintable() else repr(name)


_WORDS: dict[MetadataRecord, Callable[[MetadataRecord], str]] = {
    m.UserScramCredentialRecord: _credential_text,
    m.RemoveUserScramCredentialRecord: _removed_credential_text,
    m.AccessControlEntryRecord: _acl_text,
    m.RemoveAccessControlEntryRecord: _removed_acl_text,
    m.DelegationTokenRecord: _token_text,
    m.RemoveDelegationTokenRecord: _removed_token_text,
}
_BEGINNINGS = tuple(bytes((FRAME_VERSION, record.API_KEY)) for record in _WORDS)
