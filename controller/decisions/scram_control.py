"""AlterUserScramCredentials as a decision: the credentials to write and to remove.

Owns: the checks on each user. A request may name a user once; each user succeeds or fails on its
own. The client sends a salted password, never the password; the two stored keys are derived from it
here (`controller.metadata.scram_credential`).

Never: sees a password, and never puts a key, a salt or a salted password into an error.

Follows KIP-554, KIP-900 and Kafka's `ScramControlManager`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.metadata.image import ScramImage
from controller.metadata.records import MetadataRecord
from controller.metadata.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    credential_of,
)
from controller.metadata.snapshot import credential_record
from controller.metadata.version import has_scram
from ground.sliced_work import Pace, Steps, each
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveUserScramCredentialRecord

RECORDS_A_SLICE = 64
"""The number of credentials, each with two keys to derive, before other work has its turn."""
_MECHANISMS = frozenset(ScramMechanism)

_OLD_LEVEL = ApiError(
    ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
)
_TWICE = ApiError(
    ErrorCode.DUPLICATE_RESOURCE,
    "A user credential cannot be altered twice in the same request",
)
_NO_NAME = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
_UNKNOWN_MECHANISM = ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
_NOT_THERE = ApiError(
    ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
)
_TOO_FEW = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
_TOO_MANY = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
_NO_PASSWORD = ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password must not be empty")


class CredentialDeletion(NamedTuple):
    """A credential to remove."""

    name: str
    mechanism: int


class Upsertion(NamedTuple):
    """A credential to write, in place of an existing one."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        """Return a text without the salt and the salted password."""
        return f"Upsertion({self.name!r}, {self.mechanism}, {self.iterations}, [hidden])"


UserErrors = Mapping[str, ApiError | None]
"""The error of each user, in the request's order; None: the user was altered."""


def alter_credentials(
    view: DecisionView, changes: Sequence[CredentialDeletion | Upsertion]
) -> Steps[Decision[UserErrors]]:
    """Return the decision that writes and removes credentials, each user on its own.

    The reply has each user's error, or None. A user that `changes` name twice is not altered. Above
    the limits on records and bytes, the reply is TOO_MANY_RECORDS.
    """
    outcome: dict[str, ApiError | None] = {}
    accepted: dict[str, CredentialDeletion | Upsertion] = {}
    is_old = not has_scram(view.image.metadata_level)
    pace = Pace()
    for change in changes:
        if pace.is_full():
            yield None
        if is_old:
            outcome[change.name] = _OLD_LEVEL
        elif change.name not in outcome:
            error = _fault(view.image.scram, change)
            outcome[change.name] = error
            if error is None:
                accepted[change.name] = change
        elif accepted.pop(change.name, None) is not None:
            outcome[change.name] = _TWICE
    if len(accepted) > MAX_RECORDS_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    if _size(accepted) > MAX_CONFIG_BYTES_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    records: list[MetadataRecord] = []
    yield from each(
        lambda change: records.append(_record(change)), accepted.values(), RECORDS_A_SLICE
    )
    return Decision(outcome, records)


def _fault(scram: ScramImage, change: CredentialDeletion | Upsertion) -> ApiError | None:
    """Return the error of a change, None if it is valid."""
    if not change.name:
        return _NO_NAME
    if change.mechanism not in _MECHANISMS:
        return _UNKNOWN_MECHANISM
    if isinstance(change, CredentialDeletion):
        credential = scram.credential(ScramMechanism(change.mechanism), change.name)
        return _NOT_THERE if credential is None else None
    if change.iterations < ITERATIONS_MIN:
        return _TOO_FEW
    if change.iterations > ITERATIONS_MAX:
        return _TOO_MANY
    # Kafka fails on an empty key with UNKNOWN_SERVER_ERROR.
    return None if change.salted_password else _NO_PASSWORD


def _record(change: CredentialDeletion | Upsertion) -> MetadataRecord:
    """Return the record of a valid change; for an upsertion, derive the keys from the salted
    password."""
    mechanism = ScramMechanism(change.mechanism)
    if isinstance(change, CredentialDeletion):
        return RemoveUserScramCredentialRecord(change.name, mechanism)
    credential = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
    return credential_record(change.name, mechanism, credential)


def _size(changes: Mapping[str, CredentialDeletion | Upsertion]) -> int:
    """Return the length of the values that the client can choose freely: user names and salts."""
    salts = sum(len(change.salt) for change in changes.values() if isinstance(change, Upsertion))
    return salts + sum(map(len, changes))
