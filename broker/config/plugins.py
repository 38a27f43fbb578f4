"""Keys whose values name a class: a built-in one, by Kafka's name, or a Python class.

A Python class is written `package.module:Class`. Every other name is rejected. Owns Kafka's names
of the built-in classes, and the form of a Python class. It imports no class
(`broker.plugins.loading`).
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
"""Kafka's names of the built-in classes, by key."""
SETTINGS_PREFIX = "plugin."
"""The prefix of plug-ins' own keys: Ottla accepts any, and passes them to the plug-ins."""


ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""The built-in assignors' names in `group.consumer.assignors`, and their names for members."""


_NAMES = (*BUILT_IN, CONSUMER_ASSIGNORS, "sasl.server.callback.handler.class")


def names_python_class(texts: Mapping[str, str]) -> bool:
    """Return whether any key of a checked configuration names a Python class."""
    return any(":" in text for name, text in texts.items() if name.endswith(_NAMES))


class PythonClass(NamedTuple):
    """A class `package.module:Class`, with the whole name of the key that names it."""

    key: str
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def class_of(
    key: str, text: str | None, built_in: tuple[str, ...], what: str = "built in"
) -> PythonClass | str | None:
    """Return the Python class or the built-in class that `key` names; None if it is empty.

    A built-in class is returned as Kafka's name. `what` describes the built-in classes in an
    error's text. Raises ConfigError for another name.
    """
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
    """Return the Python class that a node's key names; None for a built-in class or no class.

    Raises ConfigError.
    """
    named_class = class_of(key, text, BUILT_IN[key])
    return named_class if isinstance(named_class, PythonClass) else None


def consumer_assignors(texts: Sequence[str]) -> list[PythonClass | str]:
    """Return the entries of `group.consumer.assignors`: Python classes, and built-in names.

    Raises ConfigError.
    """
    assignors: list[PythonClass | str] = []
    for text in texts:
        assignor = class_of(CONSUMER_ASSIGNORS, text, tuple(ASSIGNORS))
        if assignor is None:
            raise ConfigError(CONSUMER_ASSIGNORS, f"{CONSUMER_ASSIGNORS}: one name is empty")
        assignor = ASSIGNORS[assignor] if isinstance(assignor, str) else assignor
        if assignor in assignors:
            raise ConfigError(CONSUMER_ASSIGNORS, f"{CONSUMER_ASSIGNORS} names {assignor} twice")
        assignors.append(assignor)
    return assignors


def _is_dotted(name: str) -> bool:
    """Return whether the parts of a name between its dots are all Python identifiers."""
    return all(part.isidentifier() for part in name.split("."))
