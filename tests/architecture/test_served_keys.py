"""The served keys are exactly those that the sources read."""

from __future__ import annotations

import ast
import inspect
from functools import cache

from broker.config.group_configs import LIMITS
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.security.listeners import TLS_KEYS
from broker.config.security.mechanisms import OAUTH_KEYS
from broker.config.support import SECRET_KEYS, SECURITY_KEYS, SERVED
from broker.config.values import BrokerConfig
from storage.log_config import SYNONYMS
from tests.architecture.sources import nodes, relative, sources

# These files hold, check or describe every key; they serve none.
NO_READERS = ("broker/config/keys.py", "broker/config/checks.py", "broker/config/support.py")
# Read while the configuration is built: the effective value has another name, or is only checked.
FOLDED = (
    "broker.id",
    "connection.failed.authentication.delay.ms",
    "log.dir",
    "listener.security.protocol.map",
    "ottla.unknown.keys",
)
# Kept for clients that describe them (KIP-405): they are only the defaults of topic configs.
TOPIC_DEFAULTS = tuple(name for names in SYNONYMS.values() for name, _ in names)


@cache
def attributes_read(without: tuple[str, ...] = NO_READERS) -> frozenset[str]:
    """Return every name after a dot in the sources that may read a key."""
    return frozenset(
        node.attr
        for path in sources()
        if relative(path) not in without
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
    )


def test_every_served_key_has_a_reader() -> None:
    read = attributes_read()
    silent = [
        name
        for name in SERVED
        if BROKER_CONFIG_DEF[name].attribute not in read
        and name not in (*FOLDED, *TOPIC_DEFAULTS, *SECURITY_KEYS, *SECRET_KEYS, *LIMITS)
    ]
    assert silent == []


def texts_in(folder: str) -> frozenset[str]:
    """Return every text in the sources of a folder that may read a key."""
    return frozenset(
        node.value
        for path in sources()
        if relative(path).startswith(folder) and relative(path) not in NO_READERS
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_every_secret_is_read_by_name() -> None:
    texts = texts_in("broker/node/")
    assert [name for name in SECRET_KEYS if name not in texts] == []


def test_every_key_of_security_is_read_for_each_listener() -> None:
    """Look for `ssl.*` and `sasl.oauthbearer.*` as fields of settings, for others by name."""
    read = [*TLS_KEYS.values(), *OAUTH_KEYS.values(), *texts_in("broker/config/")]
    assert [name for name in SECURITY_KEYS if name not in read] == []


def test_every_key_that_is_read_is_called_served() -> None:
    fields = inspect.get_annotations(BrokerConfig)
    names = {key.attribute: name for name, key in BROKER_CONFIG_DEF.items()}
    read = {names[word] for word in attributes_read() if word in fields and word in names}
    assert sorted(read - set(SERVED)) == []


def test_every_attribute_of_the_configuration_is_read() -> None:
    read = attributes_read(without=())
    assert [name for name in inspect.get_annotations(BrokerConfig) if name not in read] == []
