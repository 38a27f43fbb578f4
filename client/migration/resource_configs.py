"""The check of configs of topics, groups and client metrics: what Ottla would refuse or ignore.

Uses the functions by which a node of Ottla validates a change of these configs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from broker.config.group_configs import group_config_fault
from broker.config.keys import GROUP_CONFIG_DEF
from broker.config.parse import single_node_config
from broker.config.support import ignored_topic_configs
from broker.config.values import BrokerConfig
from client.core.groups import CLASSIC, CONSUMER, SHARE
from client.migration.contents import ResourceName, SetConfig
from client.migration.findings import Finding, ignored, refused, unknown
from controller.decisions.client_metrics_config import CLIENT_METRICS_KEYS, client_metrics_fault
from ground.config_def import ConfigValue
from storage.log_config import LOG_CONFIG_DEF, LogConfig

SERVED_GROUP_TYPES = (CLASSIC, CONSUMER, SHARE)
GROUP_TYPES = frozenset(
    (*SERVED_GROUP_TYPES, *(name.partition(".")[0] for name in GROUP_CONFIG_DEF if "." in name))
)
"""The types of groups that Ottla has heard of: those that it serves or has configs for."""

_TIERED = "remote.storage.enable"
_UNTIER = (
    "bring the records back to the brokers' disks, and set remote.storage.enable=false, "
    "before the first node is replaced"
)
_CHANGE = "change or remove it: ottla config set"
_REMOVE = "remove it, if you can do without its effect: ottla config set --unset"
_NO_EFFECT = "nothing, if you can do without its effect"
_NO_TELEMETRY = (
    "collect the metrics in another way: Ottla keeps the subscription, but requests no metrics"
)
_OTHER_RELEASE = "take a release of Ottla that knows it, or remove it"


def topic_findings(
    topics: Mapping[str, Sequence[SetConfig]], config: BrokerConfig | None
) -> Iterator[Finding]:
    """Yield the findings about the configs of topics; `config` is that of a broker, with the
    defaults of topics."""
    defaults = None if config is None else config.topic_defaults
    for topic, configs in topics.items():
        yield from _findings_of_topic(f"topic {topic}", configs, defaults)


def _findings_of_topic(
    place: str, configs: Sequence[SetConfig], defaults: Mapping[str, ConfigValue] | None
) -> Iterator[Finding]:
    """Yield the findings about the configs of a topic."""
    sound: dict[str, str] = {}
    for name, value, _ in configs:
        if name not in LOG_CONFIG_DEF:
            yield unknown(place, f"unknown topic config {name}", _REMOVE)
            continue
        text = value or ""
        fault = LogConfig.validate({name: text})
        if fault is None:
            sound[name] = text
        elif name == _TIERED:
            yield refused(place, f"{name}={text}, but tiered storage is not supported", _UNTIER)
        else:
            yield refused(place, str(fault.message), _CHANGE)
    fault = LogConfig.validate(sound, defaults)
    if fault is not None:
        yield refused(place, str(fault.message), _CHANGE)
    for warning in ignored_topic_configs(sound):
        yield ignored(place, warning, _NO_EFFECT)


def group_config_findings(
    groups: Mapping[str, Sequence[SetConfig]], config: BrokerConfig | None
) -> Iterator[Finding]:
    """Yield the findings about the configs of groups; `config` is that of a broker, with the limits
    of such configs."""
    if not groups:
        return
    server = single_node_config() if config is None else config
    for group, configs in groups.items():
        place = f"group {group}"
        sound: dict[str, str] = {}
        for name, value, _ in configs:
            kind = name.partition(".")[0]
            if name not in GROUP_CONFIG_DEF:
                yield unknown(place, f"unknown group config {name}", _REMOVE)
                continue
            sound[name] = value or ""
            if kind in GROUP_TYPES and kind not in SERVED_GROUP_TYPES:
                what = f"{name}={value} is for {kind} groups, which Ottla does not serve"
                yield ignored(place, what, _NO_EFFECT)
        fault = group_config_fault(server, sound)
        if fault is not None:
            yield refused(place, str(fault.message), _CHANGE)


def client_metrics_findings(
    subscriptions: Mapping[str, Sequence[SetConfig]],
) -> Iterator[Finding]:
    """Yield the findings about subscriptions to clients' metrics, which have no effect in Ottla."""
    for name, configs in subscriptions.items():
        place = f"client metrics {name}"
        yield ignored(place, "a subscription to the metrics of clients", _NO_TELEMETRY)
        for key, value, _ in configs:
            fault = client_metrics_fault({key: value or ""})
            if key not in CLIENT_METRICS_KEYS:
                yield unknown(place, f"unknown client metrics config {key}", _REMOVE)
            elif fault is not None:
                yield refused(place, str(fault.message), _CHANGE)


def other_resource_findings(resources: Sequence[ResourceName]) -> Iterator[Finding]:
    """Yield a finding for each resource with configs of a type that Ottla does not know."""
    for type_, name in resources:
        what = f"configs of a resource of the unknown type {type_}"
        yield unknown(f"resource {name}", what, _OTHER_RELEASE)
