"""Configs of topics, brokers and groups that a cluster keeps: read, set and removed.

Owns no connection. Follows KIP-339 (IncrementalAlterConfigs), KIP-226 (sources), KIP-1142 (groups).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.refusals.advice import advice_on
from broker.config.start_error import StartError
from client.cluster import ClusterClient
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
"""The sources of dynamic configs, by type of resource: values set while the cluster ran."""


class ConfigResource(NamedTuple):
    """A resource that has configs; a broker's name "" stands for all brokers."""

    kind: int
    name: str

    def __str__(self) -> str:
        """Return text such as `topic orders`, or `all brokers`."""
        if self.kind == BROKER and not self.name:
            return "all brokers"
        return f"{RESOURCE_WORDS[self.kind]} {self.name}"


def configs_of(
    cluster: ClusterClient,
    resource: ConfigResource,
    keys: Sequence[str] | None = None,
    *,
    with_documentation: bool = False,
) -> list[DescribeConfigsResourceResult]:
    """Ask the cluster for the configs of one resource, all or only `keys`, and return them sorted
    by name. Raises Refused."""
    configs = configs_by_name(
        cluster, resource.kind, [resource.name], keys, with_documentation=with_documentation
    )
    return configs[resource.name]


def configs_by_name(
    cluster: ClusterClient,
    kind: int,
    names: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    with_documentation: bool = False,
) -> dict[str, list[DescribeConfigsResourceResult]]:
    """Return the configs of several resources of one kind, as `configs_of` does, by resource name.

    The request for a broker's configs goes to that broker, because no other broker knows its file;
    `names` then has one id. Raises Refused.
    """
    resources = [
        DescribeConfigsResource(kind, name, None if keys is None else list(keys)) for name in names
    ]
    request = DescribeConfigsRequest(
        resources, include_synonyms=True, include_documentation=with_documentation
    )
    if kind == BROKER and names and names[0]:
        answer = cluster.call_at(int(names[0]), request, DescribeConfigsResponse)
    else:
        answer = cluster.call(request, DescribeConfigsResponse)
    configs = {}
    for result in answer.results:
        resource = ConfigResource(kind, result.resource_name)
        if result.error_code == ErrorCode.INVALID_REQUEST and kind in _NEWER_KINDS:
            raise Refused(f"{resource}: the cluster is too old to have configs of this kind")
        if result.error_code:
            reason = why(result.error_code, result.error_message, f"DescribeConfigs on {resource}")
            raise Refused(f"{resource}: {reason}")
        configs[result.resource_name] = sorted(result.configs, key=_name)
    return configs


def client_metrics(cluster: ClusterClient) -> list[str] | None:
    """Return the sorted names of the subscriptions to clients' metrics (KIP-714).

    None if the cluster does not serve them. Raises Refused.
    """
    from protocol.messages.list_config_resources import (
        ListConfigResourcesRequest,
        ListConfigResourcesResponse,
    )

    if not cluster.serves(ApiKey.LIST_CONFIG_RESOURCES):
        return None
    # Version 0 has no field for types: it lists client metrics only.
    request = ListConfigResourcesRequest([CLIENT_METRICS])
    answer = cluster.call(request, ListConfigResourcesResponse)
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        return None
    if answer.error_code:
        raise Refused(why(answer.error_code, None, "DescribeConfigs on the cluster"))
    kind = CLIENT_METRICS
    return sorted(
        listed.resource_name for listed in answer.config_resources if listed.resource_type == kind
    )


def alter_configs(
    cluster: ClusterClient,
    resource: ConfigResource,
    values: Mapping[str, str],
    removed: Sequence[str] = (),
    *,
    dry_run: bool = False,
) -> None:
    """Set and remove configs of one resource, or only check the change if `dry_run`.

    A change to one broker is sent to that broker, because no other accepts it. Raises Refused if
    the change is rejected; nothing is changed then.
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
    for result in answer.responses:
        if result.error_code:
            reason = why(result.error_code, result.error_message, f"AlterConfigs on {resource}")
            if result.error_code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST):
                reason = result.error_message or reason
                reason += advice_on(reason)
            raise Refused(f"{resource}: {reason}")


def parse_pairs(pairs: Sequence[str], noun: str = "config") -> dict[str, str]:
    """Return the values by key, from texts of the form `KEY=VALUE`. Raises StartError."""
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise StartError(f"{noun} {pair}: write it as KEY=VALUE")
        values[key.strip()] = value.strip()
    return values


def _name(config: DescribeConfigsResourceResult) -> str:
    return config.name
