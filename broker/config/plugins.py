"""Keys that name a class: Kafka's own names mean what is built in, `package.module:Class` a Python
class, and every other name is refused.

Owns which of Kafka's names mean what is built in, and how a Python class is written. It imports
none (`broker.plugins.loading`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.authorizer import STANDARD_AUTHORIZER
from ground.config_def import ConfigError

DEFAULT_PRINCIPAL_BUILDER = (
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
)
AUTHORIZER = "authorizer.class.name"
PRINCIPAL_BUILDER = "principal.builder.class"
CREATE_TOPIC_POLICY = "create.topic.policy.class.name"
ALTER_CONFIG_POLICY = "alter.config.policy.class.name"
PRODUCE_INTERCEPTOR = "ottla.produce.interceptor.class"
QUOTA_CALLBACK = "client.quota.callback.class"
CONSUMER_ASSIGNORS = "group.consumer.assignors"

BUILT_IN = {
    AUTHORIZER: (STANDARD_AUTHORIZER,),
    PRINCIPAL_BUILDER: (DEFAULT_PRINCIPAL_BUILDER,),
    CREATE_TOPIC_POLICY: (),
    ALTER_CONFIG_POLICY: (),
    PRODUCE_INTERCEPTOR: (),
    QUOTA_CALLBACK: (),
}
"""Key → Kafka's names of what is built in."""
SETTINGS_PREFIX = "plugin."
"""Of keys that are plug-ins' own: Ottla takes each, and hands them over."""


ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""What `group.consumer.assignors` may call those built in, and by which name members do."""


_NAMES = (*BUILT_IN, CONSUMER_ASSIGNORS, "sasl.server.callback.handler.class")


def names_python_class(texts: Mapping[str, str]) -> bool:
    """Whether any key does; the configuration has been checked."""
    return any(":" in text for name, text in texts.items() if name.endswith(_NAMES))


class PythonClass(NamedTuple):
    """`package.module:Class`, and the whole name of the key that says so."""

    key: str
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def class_of(
    key: str, text: str | None, built_in: tuple[str, ...], what: str = "built in"
) -> PythonClass | str | None:
    """The Python class that `key` names, or what is built in by Kafka's name for it; None: neither.
    `what`: whose it is, for the refusal. Raises ConfigError for another name."""
    name = (text or "").strip()
    if not name:
        return None
    if name in built_in:
        return name
    module, colon, attribute = name.partition(":")
    if colon and _is_dotted(module) and _is_dotted(attribute):
        return PythonClass(key, module, attribute)
    if colon:
        raise ConfigError(key, f"{key}={name}: write a Python class as package.module:Class")
    also = f" ({what}: {', '.join(built_in)})" if built_in else ""
    raise ConfigError(
        key, f"{key}={name}: Java classes cannot be loaded; name a Python one, module:Class{also}"
    )


def python_class(key: str, text: str | None) -> PythonClass | None:
    """The Python class that a key of the node names; None: what is built in, or nothing. Raises
    ConfigError."""
    found = class_of(key, text, BUILT_IN[key])
    return found if isinstance(found, PythonClass) else None


def consumer_assignors(texts: Sequence[str]) -> list[PythonClass | str]:
    """The entries of `group.consumer.assignors`: Python classes, and names of those built in.
    Raises ConfigError."""
    found: list[PythonClass | str] = []
    for text in texts:
        one = class_of(CONSUMER_ASSIGNORS, text, tuple(ASSIGNORS))
        if one is None:
            raise ConfigError(CONSUMER_ASSIGNORS, f"{CONSUMER_ASSIGNORS}: one name is empty")
        one = ASSIGNORS[one] if isinstance(one, str) else one
        if one in found:
            raise ConfigError(CONSUMER_ASSIGNORS, f"{CONSUMER_ASSIGNORS} names {one} twice")
        found.append(one)
    return found


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))
