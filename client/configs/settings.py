"""Configs of topics, brokers and groups that a cluster keeps: asked for, set and removed.

Owns no connection. Follows KIP-339 (IncrementalAlterConfigs), KIP-226 (sources), KIP-1142 (groups).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.refusals.advice import advice_on
from broker.config.start_error import StartError
from client.cluster import Cluster
from client.refusals import Refused, why
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
RESOURCE_WORDS = {
    TOPIC: "topic",
    BROKER: "broker",
    CLIENT_METRICS: "client metrics",
    GROUP: "group",
}
_NEWER_KINDS = (CLIENT_METRICS, GROUP)
_SET, _DELETE = 0, 1

SOURCES = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "file",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}
OWN_SOURCES = {TOPIC: (1,), BROKER: (2, 3), CLIENT_METRICS: (7,), GROUP: (8,)}
"""By type of resource: what somebody has set for it while the cluster ran."""


class Resource(NamedTuple):
    """What has configs; the name "" is that of all brokers together."""

    kind: int
    name: str

    def __str__(self) -> str:
        if self.kind == BROKER and not self.name:
            return "all brokers"
        return f"{RESOURCE_WORDS[self.kind]} {self.name}"


def configs_of(
    cluster: Cluster,
    resource: Resource,
    keys: Sequence[str] | None = None,
    *,
    with_documentation: bool = False,
) -> list[DescribeConfigsResourceResult]:
    """Of one resource, all or those of `keys`, in order of names. Raises Refused."""
    found = configs_by_name(
        cluster, resource.kind, [resource.name], keys, with_documentation=with_documentation
    )
    return found[resource.name]


def configs_by_name(
    cluster: Cluster,
    kind: int,
    names: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    with_documentation: bool = False,
) -> dict[str, list[DescribeConfigsResourceResult]]:
    """The same of several resources of one kind. Raises Refused.

    A broker is asked itself: no other knows its file.
    """
    asked = [
        DescribeConfigsResource(kind, name, None if keys is None else list(keys)) for name in names
    ]
    request = DescribeConfigsRequest(
        asked, include_synonyms=True, include_documentation=with_documentation
    )
    if kind == BROKER and names and names[0]:
        answer = cluster.call_at(int(names[0]), request, DescribeConfigsResponse)
    else:
        answer = cluster.call(request, DescribeConfigsResponse)
    found = {}
    for one in answer.results:
        resource = Resource(kind, one.resource_name)
        if one.error_code == ErrorCode.INVALID_REQUEST and kind in _NEWER_KINDS:
            raise Refused(f"{resource}: the cluster is too old to have configs of this kind")
        if one.error_code:
            reason = why(one.error_code, one.error_message, f"DescribeConfigs on {resource}")
            raise Refused(f"{resource}: {reason}")
        found[one.resource_name] = sorted(one.configs, key=_name)
    return found


def client_metrics(cluster: Cluster) -> list[str] | None:
    """The names of the subscriptions to clients' metrics (KIP-714), in order; None where the
    cluster does not serve them. Raises Refused."""
    from protocol.messages.list_config_resources import (
        ListConfigResourcesRequest,
        ListConfigResourcesResponse,
    )

    if not cluster.serves(ApiKey.LIST_CONFIG_RESOURCES):
        return None
    # Before version 1 there are no types to ask for: it lists these and no others.
    request = ListConfigResourcesRequest([CLIENT_METRICS])
    answer = cluster.call(request, ListConfigResourcesResponse)
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        return None
    if answer.error_code:
        raise Refused(why(answer.error_code, None, "DescribeConfigs on the cluster"))
    kind = CLIENT_METRICS
    return sorted(one.resource_name for one in answer.config_resources if one.resource_type == kind)


def alter_configs(
    cluster: Cluster,
    resource: Resource,
    values: Mapping[str, str],
    removed: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> None:
    """Set and remove configs of one resource. Raises Refused, and then nothing is changed.

    Those of one broker it takes itself, and no other.
    """
    from protocol.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )

    changes = [AlterableConfig(key, _SET, value) for key, value in values.items()]
    changes += [AlterableConfig(key, _DELETE, None) for key in removed]
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(resource.kind, resource.name, changes)], dry_run
    )
    answer = (
        cluster.call_at(int(resource.name), request, IncrementalAlterConfigsResponse)
        if resource.kind == BROKER and resource.name
        else cluster.call(request, IncrementalAlterConfigsResponse)
    )
    for one in answer.responses:
        if one.error_code:
            reason = why(one.error_code, one.error_message, f"AlterConfigs on {resource}")
            if one.error_code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST):
                reason = one.error_message or reason
                reason += advice_on(reason)
            raise Refused(f"{resource}: {reason}")


def parse_pairs(pairs: Sequence[str], what: str = "config") -> dict[str, str]:
    """`KEY=VALUE` each. Raises StartError."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise StartError(f"{what} {pair}: write it as KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def _name(one: DescribeConfigsResourceResult) -> str:
    return one.name
