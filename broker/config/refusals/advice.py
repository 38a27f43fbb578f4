"""Advice on what to write instead, for errors that users often meet.

Kafka's own error texts also go to clients and stay unchanged. The advice follows them at a start,
and after a cluster's answer to a command. This module only handles texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from broker.config.endpoints import NON_ROUTABLE_HOST
from ground.config_def import ConfigError

_AMOUNT = re.compile(r"(\d+)\s*([A-Za-z]+)")
_NO_NUMBER = re.compile(
    r"Invalid value (?P<text>.+?) for configuration (?P<key>\S+): Not a number of type"
)
_MS = {
    **dict.fromkeys(("ms",), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("w", "week", "weeks"), 604_800_000),
}
_BYTES = {
    "b": 1,
    **{f"{unit}b": 1000**power for power, unit in enumerate("kmgt", 1)},
    **{f"{unit}ib": 1024**power for power, unit in enumerate("kmgt", 1)},
    **{unit: 1024**power for power, unit in enumerate("kmgt", 1)},
}
_UNITS: tuple[tuple[str, str, Mapping[str, int], int], ...] = (
    (".ms", "milliseconds", _MS, 1),
    (".seconds", "seconds", _MS, 1_000),
    (".minutes", "minutes", _MS, 60_000),
    (".hours", "hours", _MS, 3_600_000),
    (".bytes", "bytes", _BYTES, 1),
)


def advice(error: ConfigError, texts: Mapping[str, str], option: str = "") -> str:
    """Return advice on what to write instead, as a sentence with a leading blank; empty if there is
    none.

    `texts` is the written configuration; `option`, such as `--override `, precedes the key in
    advice on `advertised.listeners`.
    """
    if error.name == "advertised.listeners" and NON_ROUTABLE_HOST in str(error):
        return _routable(texts, option)
    written = texts.get(error.name)
    return "" if written is None else _as_a_number(error.name, written.strip())


def advice_on(refusal: str) -> str:
    """Return the advice for an error text of a cluster, which names the key and the value; empty if
    there is none."""
    match = _NO_NUMBER.search(refusal)
    return "" if match is None else _as_a_number(match["key"], match["text"].strip())


def _routable(texts: Mapping[str, str], option: str) -> str:
    """Return a suggestion: the same listeners with a name that resolves to this machine."""
    entries = texts.get("advertised.listeners") or texts.get("listeners", "")
    controllers = texts.get("controller.listener.names", "CONTROLLER").upper().split(",")
    names = [
        entry.strip().replace(NON_ROUTABLE_HOST, "localhost")
        for entry in entries.split(",")
        if entry.partition("://")[0].strip().upper() not in controllers
    ]
    return (
        " Clients are told this address: say where they reach this machine, for example "
        f"{option}advertised.listeners={','.join(names)}"
    )


def _as_a_number(key: str, text: str) -> str:
    """Return a sentence with `7d` or `1GB` in the unit of the key; empty for other texts."""
    match = _AMOUNT.fullmatch(text)
    for suffix, unit, sizes, step in _UNITS:
        if match is None or not key.endswith(suffix):
            continue
        size = sizes.get(match[2].lower())
        if size is not None and int(match[1]) * size % step == 0:
            return f" (it is in {unit}: write {int(match[1]) * size // step})"
    return ""
