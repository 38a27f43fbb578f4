"""The keys of a listener: `listener.name.<listener>.<key>` before `<key>` before Kafka's default.

Owns which keys may have the prefix, and their look-up. It knows no listener's protocol and creates
no settings (`broker.config.security.listeners`).

Follows Kafka's `ListenerName.configPrefix` and `saslMechanismPrefix`, and what a running broker
accepts. The listener is in lower case. `listener.name.<listener>.<mechanism>.<key>` is the key of a
SASL mechanism on it, and the mechanism is in lower case, too. KIP-103, KIP-226.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_KEYS, LISTENER_PREFIX, key_of
from broker.config.unknown_keys import ignores_unknown_keys, unknown_key_warnings
from ground.config_def import ConfigError, ConfigValue

_MECHANISMS = ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
"""The mechanisms of `broker.config.security.mechanisms`, as they are written in keys."""
_OF_THE_NODE = ("sasl.mechanism.inter.broker.protocol", "sasl.mechanism.controller.protocol")
_OF_A_MECHANISM = ("connections.max.reauth.ms", "sasl.jaas.config", "sasl.login.", "sasl.oauth")
_SERVER_CALLBACK = "sasl.server.callback.handler.class"


@dataclass(frozen=True, slots=True)
class Scope:
    """The look-up of keys of a listener, mechanism or client, with the nearest prefix first."""

    texts: Mapping[str, str]
    prefixes: tuple[str, ...] = ("",)

    def name(self, key: str) -> str:
        """Return the whole name that sets `key`; if it is not set, the name with the nearest
        prefix."""
        names = [f"{prefix}{key}" for prefix in self.prefixes]
        return next((name for name in names if name in self.texts), names[0])

    def text(self, key: str) -> str | None:
        """Return the text of `key` as it was written; None if it is not set."""
        return self.texts.get(self.name(key))

    def value(self, key: str) -> ConfigValue:
        """Return the value in force: that of the nearest name that is set, or the default. Raises
        ConfigError with the name that is set."""
        name, definition = self.name(key), BROKER_CONFIG_DEF[key]
        if name not in self.texts:
            return definition.parse(definition.default)
        return replace(definition, name=name).parse(self.texts[name])

    def nearest(self) -> Scope:
        """Return a scope with only the nearest prefix."""
        return Scope(self.texts, self.prefixes[:1])


def listener_prefix(listener: str) -> str:
    """Return the prefix of the keys of a listener."""
    return f"{LISTENER_PREFIX}{listener.lower()}."


def listener_scope(texts: Mapping[str, str], listener: str) -> Scope:
    """Return the scope of a listener."""
    return Scope(texts, (listener_prefix(listener), ""))


def mechanism_scope(texts: Mapping[str, str], listener: str, mechanism: str) -> Scope:
    """Return the scope of a mechanism on a listener."""
    prefix = listener_prefix(listener)
    return Scope(texts, (f"{prefix}{mechanism.lower()}.", prefix, ""))


def check_listener_keys(texts: Mapping[str, str], listeners: Collection[str]) -> Iterator[str]:
    """Yield warnings for keys of listeners that have no effect.

    `listeners` are the names of this node's listeners, and of those that it connects to. Raises
    ConfigError for a wrong key, and for an unknown key unless `ottla.unknown.keys` is `warn`.
    """
    unknown: dict[str, str] = {}
    prefixes = [listener_prefix(listener) for listener in sorted(listeners, key=len, reverse=True)]
    for name, text in texts.items():
        if not name.startswith(LISTENER_PREFIX):
            continue
        prefix = next((listener for listener in prefixes if name.startswith(listener)), None)
        if prefix is None:
            yield _no_listener_warning(name, prefixes)
        elif key_of(rest := name.removeprefix(prefix), BROKER_CONFIG_DEF) is None:
            unknown[name] = rest
        elif (warning := _key_warning(name, rest, text)) is not None:
            yield warning
    if unknown and not ignores_unknown_keys(texts):
        raise _unknown_key_error(*next(iter(unknown.items())))
    yield from unknown_key_warnings(
        list(unknown), lambda name: _unknown_key_error(name, unknown[name])
    )


def _no_listener_warning(name: str, prefixes: Iterable[str]) -> str:
    """Return a warning: the key names none of this node's listeners, so it is ignored.

    Raises ConfigError if only upper case letters make the difference.
    """
    lowered = next((prefix for prefix in prefixes if name.lower().startswith(prefix)), None)
    if lowered is not None:
        text = f"{name}: write the listener in lower case, {lowered}{name[len(lowered) :]}"
        raise ConfigError(name, text)
    own_prefixes = ", ".join(sorted(prefixes))
    return f"{name} is ignored: this node has no such listener (it has {own_prefixes})"


def _key_warning(name: str, rest: str, text: str) -> str | None:
    """Return the warning about a key after a listener's prefix; None if it is right.

    The key is known. Raises ConfigError for a wrong value.
    """
    key = key_of(rest, BROKER_CONFIG_DEF)
    assert key is not None, "the caller has handled unknown keys"
    if key in _OF_THE_NODE or key not in LISTENER_KEYS:
        return f"{name} is ignored: {key} cannot be set for one listener, set {key}"
    replace(BROKER_CONFIG_DEF[key], name=name).parse(text)
    mechanism = rest.removesuffix(key).rstrip(".")
    if mechanism:
        return _mechanism_key_warning(name, mechanism, key)
    if key == "sasl.jaas.config":
        return (
            f"{name} is ignored: put the mechanism before it, for example "
            f"{name.removesuffix(key)}plain.{key}"
        )
    return None


def _mechanism_key_warning(name: str, mechanism: str, key: str) -> str | None:
    """Return why a key of one mechanism is ignored, or None if it counts.

    Raises ConfigError if the mechanism is not in lower case.
    """
    if mechanism != mechanism.lower():
        raise ConfigError(name, f"{name}: write the mechanism in lower case, {mechanism.lower()}")
    if mechanism not in _MECHANISMS:
        return f"{name} is ignored: {mechanism} is no mechanism ({', '.join(_MECHANISMS)})"
    if not key.startswith((*_OF_A_MECHANISM, _SERVER_CALLBACK)):
        return f"{name} is ignored: {key} cannot be set for one mechanism"
    return None


def _unknown_key_error(name: str, rest: str) -> ConfigError:
    """Return the error of an unknown key, with a key of similar spelling if there is one."""
    import difflib  # only after an error: a start must stay fast

    mechanism, _, key = rest.partition(".")
    before = f"{mechanism}." if mechanism.lower() in _MECHANISMS else ""
    near = difflib.get_close_matches(key if before else rest, LISTENER_KEYS, n=1, cutoff=0.75)
    hint = f"; did you mean {name.removesuffix(rest)}{before}{near[0]}?" if near else ""
    return ConfigError(name, f"unknown configuration key {name}{hint}")
