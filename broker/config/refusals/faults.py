"""All faults of a configuration at once, instead of one at each start.

Used after a configuration was rejected. Finds unknown keys, unsupported keys and unreadable values.
A contradiction between several keys shows only as the original error. Reads no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.support import reject_unsupported_keys, unknown_key
from ground.config_def import ConfigError


def all_faults(
    texts: Mapping[str, str], refusal: ConfigError, is_known: Callable[[str], bool]
) -> list[ConfigError]:
    """Return the faults of `texts` in their order, after `refusal` if it is none of them.

    `is_known(key)` returns whether a configuration may have such a key.
    """
    faults = [fault for key in texts if (fault := fault_of(key, texts[key], is_known)) is not None]
    if str(refusal) not in [str(fault) for fault in faults]:
        faults.insert(0, refusal)
    return faults


def fault_of(key: str, text: str, is_known: Callable[[str], bool]) -> ConfigError | None:
    """Return the error of a key by itself: it is unknown, its value is wrong, or Ottla does not
    support the setting. None if there is none.

    `is_known(key)` returns whether a configuration may have such a key.
    """
    if not is_known(key):
        return unknown_key(key)
    try:
        if key in BROKER_CONFIG_DEF:
            BROKER_CONFIG_DEF[key].parse(text)
        reject_unsupported_keys({key: text})
    except ConfigError as fault:
        return fault
    return None
