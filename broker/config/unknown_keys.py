"""The treatment of keys that neither Apache Kafka's broker nor Ottla has: `ottla.unknown.keys`.

With `fail`, an unknown key stops the start, because a typo must not look like a setting. With
`warn`, it is ignored with a warning, as Kafka ignores the keys of its clients, of Connect, of
plug-ins, and of its earlier releases. The value of an unknown key is never shown, because it may be
a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from broker.config.keys import BROKER_CONFIG_DEF
from ground.config_def import ConfigError

_KEY = "ottla.unknown.keys"
NAMED_MAX = 20
"""The most unknown keys that have a warning each; the others are counted."""


def ignores_unknown_keys(texts: Mapping[str, str]) -> bool:
    """Return whether a configuration may have unknown keys. Raises ConfigError if the value that
    decides this is wrong."""
    key = BROKER_CONFIG_DEF[_KEY]
    return key.parse(texts.get(_KEY, key.default)) == "warn"


def unknown_key_warnings(
    names: Sequence[str], error: Callable[[str], ConfigError]
) -> Iterator[str]:
    """Yield a warning for each of the first NAMED_MAX keys, and one with the number of the others.

    `error` returns the error that says what is wrong with a key.
    """
    for name in names[:NAMED_MAX]:
        yield f"{name} is ignored: {error(name)}"
    more = len(names) - NAMED_MAX
    if more > 0:
        yield f"{more} more unknown configuration keys are ignored ({_KEY}=warn)"
