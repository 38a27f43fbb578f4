"""Client quotas in the metadata: for whom, and how much of what.

Owns the form of an entity, which is the same whatever order its parts come in, and the record that
sets or removes one value. Never: judges a value (`controller.decisions.client_quota_control`), or
limits anybody (`broker.quotas`).

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
"""Types and names, in the order of the types; the name None is the default of its type."""
ClientQuotas = Mapping[QuotaEntity, Mapping[str, float]]
"""Values by their keys; each entity has one at least."""


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Of parts in any order. Of several of one type the last one counts, as in Kafka."""
    return tuple(sorted(dict(parts).items(), key=lambda part: part[0]))


def entity_of(record: ClientQuotaRecord) -> QuotaEntity:
    """Whose quota it is."""
    return quota_entity((part.entity_type, part.entity_name) for part in record.entity)


def quota_record(entity: QuotaEntity, key: str, value: float | None) -> ClientQuotaRecord:
    """What the metadata log keeps of a value; None: it is removed."""
    parts = [EntityData(*part) for part in entity]
    if value is None:
        return ClientQuotaRecord(parts, key, remove=True)
    return ClientQuotaRecord(parts, key, value)
