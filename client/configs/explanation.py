"""The meaning of configs, from the documentation that Ottla carries: no cluster is asked.

Owns the search for keys by name or by a part of a name. Pure text. The text of a key that only
Kafka uses has its type and default, and says that Ottla does not use the key.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from broker.config.documentation import config_documentation
from broker.config.keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF
from broker.config.start_error import StartError
from client.configs.settings import BROKER, GROUP, RESOURCE_WORDS, TOPIC
from storage.log_config import LOG_CONFIG_DEF, SYNONYMS

_WIDTH = 98
_INDENT = "  "


class KeyExplanation(NamedTuple):
    """A config key of one kind of resource (`of`), with its type, default and meaning.

    `broker_keys`: the keys by which brokers set the default of a topic's key. `meaning` is None if
    Ottla does not use the key.
    """

    key: str
    of: str
    type: str
    default: str | None
    broker_keys: Sequence[str]
    meaning: str | None


def keys_like(words: Sequence[str]) -> list[KeyExplanation]:
    """Return the keys whose names are among `words`, else those whose names contain all of them.

    Without words: all keys. Raises StartError if none matches.
    """
    every = list(_all_explanations())
    if not words:
        return every
    matches = [key for key in every if key.key in words]
    matches = matches or [key for key in every if all(word in key.key for word in words)]
    if not matches:
        like = get_close_matches(words[0], [key.key for key in every], 1)
        hint = f"; did you mean {like[0]}?" if like else ""
        raise StartError(f"no config has {' and '.join(words)} in its name{hint}")
    return matches


def explanation_lines(key: KeyExplanation) -> list[str]:
    """Return the lines that explain a key, wrapped for a terminal: its name, type, default and
    meaning."""
    default = "" if key.default is None else key.default
    lines = [key.key]
    lines.append(f"{_INDENT}of a {key.of}, {key.type.lower()}, default {default or 'none'}")
    if key.broker_keys:
        lines.append(f"{_INDENT}brokers set its default by {', '.join(key.broker_keys)}")
    meaning = key.meaning or "Known from Kafka; Ottla does not use it."
    lines += textwrap.wrap(
        meaning, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False
    )
    return lines


def _all_explanations() -> Iterator[KeyExplanation]:
    """Yield all keys of topics, brokers and groups that are not internal, by kind and name."""
    for kind, definitions in (
        (TOPIC, LOG_CONFIG_DEF),
        (BROKER, BROKER_CONFIG_DEF),
        (GROUP, GROUP_CONFIG_DEF),
    ):
        for name in sorted(definitions):
            key = definitions[name]
            if key.internal:
                continue
            above = (
                [broker_key for broker_key, _ in SYNONYMS.get(name, ())] if kind == TOPIC else []
            )
            meaning = config_documentation(kind, name)
            word = RESOURCE_WORDS[kind]
            yield KeyExplanation(name, word, key.type.name, key.default, above, meaning)
