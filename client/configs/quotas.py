"""Quotas of clients as a command sees them: whose they are, and what a cluster is asked.

Owns no connection. Follows KIP-546 (DescribeClientQuotas, AlterClientQuotas) and KIP-612 (rates of
connections by address).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.start_error import StartError
from client.cluster import Cluster
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
"""What stands for all that have no quota of their own."""
_EXACT, _OF_DEFAULT = 0, 1
_UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "%": 1, "": 1}

Entity = tuple[tuple[str, str], ...]
"""Types and names, in the order of TYPES; DEFAULT is the default of a type."""


class Listed(NamedTuple):
    """One quota."""

    user: str | None
    client_id: str | None
    ip: str | None
    quota: str
    value: float


def entity_of(names: Mapping[str, str | None]) -> Entity:
    """Whose quotas, by type. Raises StartError for what has none."""
    found = tuple((kind, names[kind]) for kind in TYPES if names.get(kind) is not None)
    entity: Entity = tuple((kind, name) for kind, name in found if name is not None)
    if not entity:
        raise StartError("name whose: --user, --client-id, both, or --ip; '*' is the default")
    if len(entity) > 1 and entity[-1][0] == IP:
        raise StartError("--ip stands alone: addresses have quotas of their own")
    if any(not name for _, name in entity):
        raise StartError("an empty name has no quota; '*' is the default")
    return entity


def parse_rates(pairs: Mapping[str, str], entity: Entity) -> dict[str, float]:
    """Quotas by key, such as 10MB for bytes a second. Raises StartError."""
    found = {}
    for key, text in pairs.items():
        check_key(key, entity)
        unit = next((one for one in _UNITS if one and text.endswith(one)), "")
        try:
            value = float(text.removesuffix(unit)) * _UNITS[unit]
        except ValueError:
            value = -1
        if not 0 < value < float("inf") or text != text.strip():
            raise StartError(
                f"{key}={text}: give a number above 0, such as 1000000, 10MB, or 50% of a thread"
            )
        found[key] = value
    return found


def check_key(key: str, entity: Entity) -> None:
    """Raises StartError for a key that these have not."""
    kinds = {kind for kind, _ in entity}
    fitting = [one for one, types in KEYS.items() if kinds <= {*types}]
    if key not in fitting:
        raise StartError(f"{key} is no quota of theirs: there are {', '.join(fitting)}")


def listed(cluster: Cluster, names: Mapping[str, str | None]) -> list[Listed]:
    """The quotas of all, or of those named, whatever else they are of. Raises Refused."""
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
        of = {
            one.entity_type: DEFAULT if one.entity_name is None else one.entity_name
            for one in entry.entity
        }
        rows += [
            Listed(of.get(USER), of.get(CLIENT_ID), of.get(IP), one.key, one.value)
            for one in entry.values
        ]
    return sorted(rows, key=_order)


def alter(
    cluster: Cluster,
    entity: Entity,
    values: Mapping[str, float],
    removed: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> None:
    """Set and remove quotas of one entity. Raises Refused, and then nothing is changed."""
    whose = [
        AlterClientQuotasRequestEntityData(kind, None if name == DEFAULT else name)
        for kind, name in entity
    ]
    changes = [OpData(key, value, False) for key, value in values.items()]
    changes += [OpData(key, 0.0, True) for key in removed]
    request = AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(whose, changes)], dry_run)
    for one in cluster.call(request, AlterClientQuotasResponse).entries:
        if one.error_code:
            raise Refused(why(one.error_code, one.error_message, "AlterConfigs on the cluster"))


def called(entity: Entity) -> str:
    """For people."""
    return ", ".join(
        f"the default of {kind}" if name == DEFAULT else f"{kind} {name}" for kind, name in entity
    )


def _order(one: Listed) -> tuple[str, ...]:
    return tuple(cell or "" for cell in (one.user, one.client_id, one.ip, one.quota))
