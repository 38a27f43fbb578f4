"""Quotas of clients: the entities that have them, and the requests that list and alter them.

Owns no connection. Follows KIP-546 (DescribeClientQuotas, AlterClientQuotas) and KIP-612 (rates of
connections by address).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.refusals import Refused, why
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

USER, CLIENT_ID, IP = "user", "client-id", "ip"
TYPES = (USER, CLIENT_ID, IP)
KEYS = {
    "producer_byte_rate": (USER, CLIENT_ID),
    "consumer_byte_rate": (USER, CLIENT_ID),
    "request_percentage": (USER, CLIENT_ID),
    "controller_mutation_rate": (USER, CLIENT_ID),
    "connection_creation_rate": (IP,),
}
DEFAULT = "*"
"""The name of a type's default entity, whose quotas apply to names without quotas of their own."""
_EXACT, _OF_DEFAULT = 0, 1
_UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "%": 1, "": 1}

Entity = tuple[tuple[str, str], ...]
"""The types and names of an entity, in the order of TYPES; the name may be DEFAULT."""


class ListedQuota(NamedTuple):
    """A quota of one entity; user, client id or IP are None if the entity does not name them."""

    user: str | None
    client_id: str | None
    ip: str | None
    quota: str
    value: float


def entity_of(names: Mapping[str, str | None]) -> Entity:
    """Return the entity with these names by type; None: the type is not named.

    Raises StartError if no name is given, a name is empty, or an IP is combined with another type.
    """
    named = tuple((kind, names[kind]) for kind in TYPES if names.get(kind) is not None)
    entity: Entity = tuple((kind, name) for kind, name in named if name is not None)
    if not entity:
        raise StartError("name whose: --user, --client-id, both, or --ip; '*' is the default")
    if len(entity) > 1 and entity[-1][0] == IP:
        raise StartError("--ip stands alone: addresses have quotas of their own")
    if any(not name for _, name in entity):
        raise StartError("an empty name has no quota; '*' is the default")
    return entity


def parse_rates(pairs: Mapping[str, str], entity: Entity) -> dict[str, float]:
    """Return the value of each quota, from texts such as 10MB (bytes a second) or 50%.

    Raises StartError for a key that the entity cannot have, or a value that is no number above 0.
    """
    rates = {}
    for key, text in pairs.items():
        check_key(key, entity)
        unit = next((suffix for suffix in _UNITS if suffix and text.endswith(suffix)), "")
        try:
            value = float(text.removesuffix(unit)) * _UNITS[unit]
        except ValueError:
            value = -1
        if not 0 < value < float("inf") or text != text.strip():
            raise StartError(
                f"{key}={text}: give a number above 0, such as 1000000, 10MB, or 50% of a thread"
            )
        rates[key] = value
    return rates


def check_key(key: str, entity: Entity) -> None:
    """Check that the entity can have this quota. Raises StartError if not."""
    kinds = {kind for kind, _ in entity}
    fitting = [quota for quota, types in KEYS.items() if kinds <= {*types}]
    if key not in fitting:
        raise StartError(f"{key} is no quota of theirs: there are {', '.join(fitting)}")


def listed(cluster: ClusterClient, names: Mapping[str, str | None]) -> list[ListedQuota]:
    """Ask the cluster for the quotas whose entities have all of these names by type, and return
    them sorted.

    A type with None, and an entity's other types, do not restrict the list. Raises Refused.
    """
    components = [
        ComponentData(
            kind,
            _OF_DEFAULT if name == DEFAULT else _EXACT,
            None if name == DEFAULT else name,
        )
        for kind, name in names.items()
        if name is not None
    ]
    answer = cluster.call(DescribeClientQuotasRequest(components), DescribeClientQuotasResponse)
    if answer.error_code:
        reason = why(answer.error_code, answer.error_message, "DescribeConfigs on the cluster")
        raise Refused(reason)
    rows = []
    for entry in answer.entries or ():
        names_by_type = {
            component.entity_type: DEFAULT
            if component.entity_name is None
            else component.entity_name
            for component in entry.entity
        }
        rows += [
            ListedQuota(
                names_by_type.get(USER),
                names_by_type.get(CLIENT_ID),
                names_by_type.get(IP),
                quota.key,
                quota.value,
            )
            for quota in entry.values
        ]
    return sorted(rows, key=_order)


def alter(
    cluster: ClusterClient,
    entity: Entity,
    values: Mapping[str, float],
    removed: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> None:
    """Set and remove quotas of one entity, or only check the change if `dry_run`.

    Raises Refused if the cluster rejects the request; nothing is changed then.
    """
    components = [
        AlterClientQuotasRequestEntityData(kind, None if name == DEFAULT else name)
        for kind, name in entity
    ]
    changes = [OpData(key, value, False) for key, value in values.items()]
    changes += [OpData(key, 0.0, True) for key in removed]
    request = AlterClientQuotasRequest(
        [AlterClientQuotasRequestEntryData(components, changes)], dry_run
    )
    for result in cluster.call(request, AlterClientQuotasResponse).entries:
        if result.error_code:
            raise Refused(
                why(result.error_code, result.error_message, "AlterConfigs on the cluster")
            )


def as_text(entity: Entity) -> str:
    """Return an entity for a message, such as `user alice, the default of client-id`."""
    return ", ".join(
        f"the default of {kind}" if name == DEFAULT else f"{kind} {name}" for kind, name in entity
    )


def _order(quota: ListedQuota) -> tuple[str, ...]:
    """Return the key that sorts quotas by user, client id, IP and key; None comes first."""
    return tuple(cell or "" for cell in (quota.user, quota.client_id, quota.ip, quota.quota))
