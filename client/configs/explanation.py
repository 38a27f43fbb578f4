"""What a config means, from the documentation that Ottla brings: no cluster is asked.

Owns the search for keys by name or by a word of a name. Pure text. A key that Ottla knows of and
does not use has its type and default, and says so.
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


class Explained(NamedTuple):
    """A key of one kind of resource; `broker_keys` give a topic its default."""

    key: str
    of: str
    type: str
    default: str | None
    broker_keys: Sequence[str]
    meaning: str | None


def keys_like(words: Sequence[str]) -> list[Explained]:
    """Those called so; else those whose names have the words. Raises StartError for none."""
    every = list(_every())
    if not words:
        return every
    found = [one for one in every if one.key in words]
    found = found or [one for one in every if all(word in one.key for word in words)]
    if not found:
        like = get_close_matches(words[0], [one.key for one in every], 1)
        hint = f"; did you mean {like[0]}?" if like else ""
        raise StartError(f"no config has {' and '.join(words)} in its name{hint}")
    return found


def explained(one: Explained) -> list[str]:
    """For people."""
    default = "" if one.default is None else one.default
    lines = [one.key]
    lines.append(f"{_INDENT}of a {one.of}, {one.type.lower()}, default {default or 'none'}")
    if one.broker_keys:
        lines.append(f"{_INDENT}brokers set its default by {', '.join(one.broker_keys)}")
    meaning = one.meaning or "Known from Kafka; Ottla does not use it."
    lines += textwrap.wrap(
        meaning, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False
    )
    return lines


def _every() -> Iterator[Explained]:
    for kind, definitions in (
        (TOPIC, LOG_CONFIG_DEF),
        (BROKER, BROKER_CONFIG_DEF),
        (GROUP, GROUP_CONFIG_DEF),
    ):
        for name in sorted(definitions):
            key = definitions[name]
            if key.internal:
                continue
            above = [one for one, _ in SYNONYMS.get(name, ())] if kind == TOPIC else []
            meaning = config_documentation(kind, name)
            word = RESOURCE_WORDS[kind]
            yield Explained(name, word, key.type.name, key.default, above, meaning)
