"""The logins of a JAAS file, as keys of the listeners that need them.

Java reads the file that the system property `java.security.auth.login.config` names; scripts of
Kafka pass this property in the environment variable KAFKA_OPTS. A listener uses the section
`<listener>.KafkaServer`, with its name in lower case, or else the section `KafkaServer`. A key
`listener.name.<listener>.<mechanism>.sasl.jaas.config` takes precedence over both.

Reads no file and no environment. Of Java's syntax, `${...}` in a value is not replaced.

Follows Kafka's `JaasContext`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.config.endpoints import parse_protocol_map
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.security.jaas import jaas_text
from broker.config.security.listener_keys import listener_prefix
from broker.config.security.mechanisms import MECHANISMS, entry_of
from broker.config.security_settings import JaasEntry

JAAS_FILE_BYTES_MAX = 256 << 10
_OPTION = "-Djava.security.auth.login.config="
JAAS_SECTION = "KafkaServer"
"""The section for all listeners without a section of their own."""
_PROTOCOL_MAP = "listener.security.protocol.map"


def jaas_path(java_options: str) -> str | None:
    """Return the path of the JAAS file that options of Java name, or None. The last one counts."""
    paths = [word[len(_OPTION) :] for word in java_options.split() if word.startswith(_OPTION)]
    if not paths:
        return None
    return paths[-1].removeprefix("=").removeprefix("file://").removeprefix("file:") or None


def sasl_listeners(texts: Mapping[str, str]) -> list[str]:
    """Return the names of the node's and its controllers' listeners with SASL. Raises ConfigError
    if the protocols of listeners are wrong."""
    protocols = parse_protocol_map(
        texts.get(_PROTOCOL_MAP) or BROKER_CONFIG_DEF[_PROTOCOL_MAP].default or ""
    )
    entries = f"{texts.get('listeners', '')},{texts.get('controller.listener.names', '')}"
    names = dict.fromkeys(entry.partition("://")[0].strip().upper() for entry in entries.split(","))
    return [name for name in names if protocols.get(name, "").startswith("SASL_")]


def keys_of_logins(
    texts: Mapping[str, str], sections: Mapping[str, Sequence[JaasEntry]]
) -> dict[str, str]:
    """Return the keys that the sections of a JAAS file add to a configuration. Raises ConfigError
    if the protocols of listeners are wrong."""
    added = {}
    for listener in sasl_listeners(texts):
        own = f"{listener.lower()}.{JAAS_SECTION}"
        entries = sections.get(own, sections.get(JAAS_SECTION, ()))
        for mechanism in MECHANISMS:
            key = f"{listener_prefix(listener)}{mechanism.lower()}.sasl.jaas.config"
            entry = entry_of(mechanism, entries)
            if entry is not None and key not in texts:
                added[key] = jaas_text(entry)
    return added
