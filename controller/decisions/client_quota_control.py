"""AlterClientQuotas as a decision: the values to set and to remove.

Owns the checks on each entity, which succeeds or fails as a whole and on its own. A second entry
for an entity is rejected, but the first one is applied, as in Kafka. A value that does not exist
can be removed under any key.

Never looks up a host name: of the names that Kafka accepts, only `localhost` is accepted here.

Follows KIP-546, KIP-612, KIP-599 and Kafka's `ClientQuotaControlManager` and `QuotaConfig`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.metadata.client_quotas import (
    CLIENT_ID,
    ENTITY_TYPES,
    IP,
    USER,
    ClientQuotas,
    QuotaEntity,
    quota_entity,
    quota_record,
)
from controller.metadata.records import MetadataRecord
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, in_bulk, in_order
from protocol.errors import ApiError, ErrorCode
from protocol.ip_address import ip_address
from protocol.messages.alter_client_quotas import AlterClientQuotasRequestEntryData

_EPSILON = 1e-6
"""The tolerance within which a number counts as whole."""
_MOST_INT = 2.0**31 - 1
_MOST_LONG = 2.0**63

_CLIENT_KEYS: Mapping[str, float | None] = {
    "producer_byte_rate": _MOST_LONG,
    "consumer_byte_rate": _MOST_LONG,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_KEYS: Mapping[str, float | None] = {"connection_creation_rate": _MOST_INT}
"""The largest whole number that a key accepts; None: any number."""
QUOTA_KEYS = (*_CLIENT_KEYS, *_IP_KEYS)
"""The keys of quotas of all entities."""


class QuotaOp(NamedTuple):
    """A value to set; None: the value is to be removed."""

    key: str
    value: float | None


QuotaErrors = Mapping[QuotaEntity, ApiError | None]
"""The error of each entity, in the request's order; None: the entity was altered."""


def alter_client_quotas(
    view: DecisionView, entries: Sequence[AlterClientQuotasRequestEntryData], validate_only: bool
) -> Steps[Decision[QuotaErrors]]:
    """Return the decision that sets and removes quotas, each entity on its own.

    The reply has each entity's error, or None. With `validate_only`, the reply is the same, without
    records. Above the limits on records and bytes, the reply is TOO_MANY_RECORDS.
    """
    outcome: dict[QuotaEntity, ApiError | None] = {}
    records: list[MetadataRecord] = []
    names_size = 0
    pace = Pace()
    for entry in entries:
        if pace.is_full():
            yield None
        entity = yield from entity_in_slices(entry, pace)
        ops: dict[str, QuotaOp] = {}
        for op in entry.ops:
            if pace.is_full():
                yield None
            ops[op.key] = QuotaOp(op.key, None if op.remove else op.value)
        if entity in outcome or len(ops) < len(entry.ops):
            outcome[entity] = _invalid(f"Ignoring duplicate entity {_entity_text(entity)}")
            continue
        outcome[entity] = error = _entity_fault(entity) or _value_fault(entity, ops.values())
        if error is None:
            changes = _changes(view.image.client_quotas, entity, ops.values())
            records += changes
            names_size += len(changes) * sum(len(name or "") for _, name in entity)
    too_much = names_size > MAX_CONFIG_BYTES_PER_OPERATION
    if too_much or len(records) > MAX_RECORDS_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    return Decision(outcome, [] if validate_only else records)


def entity_in_slices(entry: AlterClientQuotasRequestEntryData, pace: Pace) -> Steps[QuotaEntity]:
    """Return the entity of an entry, in slices: a client may send very many parts, nearly all of
    unknown types."""
    parts: dict[str, str | None] = {}
    for part in entry.entity:
        if pace.is_full():
            yield None
        parts[part.entity_type] = part.entity_name
    if len(parts) <= PIECES_AT_ONCE:
        return quota_entity(parts.items())
    ordered: list[tuple[str, str | None]] = []
    kinds = yield from in_order(parts)
    yield from in_bulk(lambda batch: ordered.extend((kind, parts[kind]) for kind in batch), kinds)
    return tuple(ordered)


def quota_fault(entity: QuotaEntity, values: Mapping[str, float]) -> ApiError | None:
    """Return the INVALID_REQUEST error of an entity with these quotas, None if they are valid."""
    ops = [QuotaOp(key, value) for key, value in values.items()]
    return _entity_fault(entity) or _value_fault(entity, ops)


def _entity_fault(entity: QuotaEntity) -> ApiError | None:
    """Return the INVALID_REQUEST error of a quota's entity, None if it is valid. Invalid are an
    unknown type, an empty name, no address as IP, and an IP with another type."""
    if not entity:
        return _invalid("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in ENTITY_TYPES:
            return _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            return _invalid(f"Empty {kind} not supported")
    names = dict(entity)
    if IP not in names:
        return None
    if USER in names or CLIENT_ID in names:
        return _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    address = names[IP]
    if address is not None and ip_address(address) is None:
        return _invalid(f"{address} is not a valid IP or resolvable host.")
    return None


def _value_fault(entity: QuotaEntity, ops: Collection[QuotaOp]) -> ApiError | None:
    """Return the INVALID_REQUEST error of the first invalid key or value, None if all are valid.
    Removals always are."""
    keys = _IP_KEYS if entity[0][0] == IP else _CLIENT_KEYS
    for key, value in ops:
        if value is None:
            continue
        if key not in keys:
            return _invalid(f"Invalid configuration key {key}")
        text = _number_fault(key, value, keys[key])
        if text is not None:
            return _invalid(text)
    return None


def _number_fault(key: str, value: float, most: float | None) -> str | None:
    """Return the message of the error in a quota's value, None if it is valid; `most` None allows
    any fraction."""
    if not isfinite(value):
        return f"Quota {key} must be a finite number"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if most is None:
        return None
    if value > most:
        kind = "a LONG" if most == _MOST_LONG else "an INT"
        return f"Proposed value for {key} is too large for {kind}."
    if value - int(value) > _EPSILON:
        return f"{key} cannot be a fractional value."
    return None


def _changes(
    quotas: ClientQuotas, entity: QuotaEntity, ops: Collection[QuotaOp]
) -> list[MetadataRecord]:
    """Return the records of those `ops` that change a present value."""
    now = quotas.get(entity, {})
    return [quota_record(entity, key, value) for key, value in ops if now.get(key) != value]


def _invalid(text: str) -> ApiError:
    """Return an INVALID_REQUEST error with this message."""
    return ApiError(ErrorCode.INVALID_REQUEST, text)


def _entity_text(entity: QuotaEntity) -> str:
    """Return the entity as Kafka's `ClientQuotaEntity.toString` shows it."""
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"
