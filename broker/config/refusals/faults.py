"""All that is wrong in a configuration, for one look: not one fault a start.

Asked after a configuration was refused. Finds the keys that do not exist, those that are not
supported and the values that cannot be read. What only shows once several keys are seen together
is the refusal itself. Reads no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.support import refuse_what_is_not_served, unknown_key
from ground.config_def import ConfigError


def all_faults(
    texts: Mapping[str, str], refusal: ConfigError, is_known: Callable[[str], bool]
) -> list[ConfigError]:
    """The faults of `texts` in their order, with the `refusal` that was raised for one of them.

    `is_known(key)`: whether a configuration may have such a key.
    """
    found = [fault for key in texts if (fault := _fault(key, texts[key], is_known)) is not None]
    if str(refusal) not in [str(one) for one in found]:
        found.insert(0, refusal)
    return found


def _fault(key: str, text: str, is_known: Callable[[str], bool]) -> ConfigError | None:
    if not is_known(key):
        return unknown_key(key)
    try:
        if key in BROKER_CONFIG_DEF:
            BROKER_CONFIG_DEF[key].parse(text)
        refuse_what_is_not_served({key: text})
    except ConfigError as fault:
        return fault
    return None
