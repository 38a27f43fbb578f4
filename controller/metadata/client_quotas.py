"""Client quotas in the metadata: entities, and the values of their keys.

Owns the normal form of an entity, independent of the order of its parts, and the record that sets
or removes a value. Never: validates a value (`controller.decisions.client_quota_control`), or
enforces a quota (`broker.quotas`).

Follows KIP-546 and Kafka's `ClientQuotaImage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from protocol.messages.metadata_records import ClientQuotaRecord, EntityData

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"
ENTITY_TYPES = (USER, CLIENT_ID, IP)

QuotaEntity = tuple[tuple[str, str | None], ...]
"""An entity's types and names, ordered by type; the name None is the default of its type."""
ClientQuotas = Mapping[QuotaEntity, Mapping[str, float]]
"""The values of each entity by key; an entity has at least one."""


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return the entity of parts in any order. Of several parts of a type the last one counts, as
    in Kafka."""
    return tuple(sorted(dict(parts).items(), key=lambda part: part[0]))


def entity_of(record: ClientQuotaRecord) -> QuotaEntity:
    """Return the entity whose quota the record sets or removes."""
    return quota_entity((part.entity_type, part.entity_name) for part in record.entity)


def quota_record(entity: QuotaEntity, key: str, value: float | None) -> ClientQuotaRecord:
    """Return the record that sets the entity's quota `key` to `value`, or removes the quota if
    `value` is None."""
    parts = [EntityData(*part) for part in entity]
    if value is None:
        return ClientQuotaRecord(parts, key, remove=True)
    return ClientQuotaRecord(parts, key, value)
