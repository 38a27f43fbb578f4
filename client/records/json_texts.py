"""The unchanged texts of values inside a line of JSON.

Python's `json` rounds long decimals, turns 1e400 into Infinity, and keeps the last of two equal
keys in an object. A record's value that is not a string is therefore sent as the text in its line.
"""

from __future__ import annotations

import json
import re

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


def member_texts(text: str) -> dict[str, str]:
    """Return the text of each member of a JSON object; of a repeated name, that of the last.

    Raises ValueError if `text` is no object.
    """
    texts: dict[str, str] = {}
    at = _position_after(text, _behind_space(text, 0), "{")
    while not text.startswith("}", at := _behind_space(text, at)):
        if texts:
            at = _behind_space(text, _position_after(text, at, ","))
        _position_after(text, at, '"')
        name, at = _decode(text, at)
        at = _behind_space(text, _position_after(text, _behind_space(text, at), ":"))
        _value, end = _decode(text, at)
        texts[name] = text[at:end]
        at = end
    return texts


def item_texts(text: str) -> list[str]:
    """Return the text of each item of a JSON list. Raises ValueError if `text` is no list."""
    texts: list[str] = []
    at = _position_after(text, _behind_space(text, 0), "[")
    while not text.startswith("]", at := _behind_space(text, at)):
        if texts:
            at = _behind_space(text, _position_after(text, at, ","))
        _value, end = _decode(text, at)
        texts.append(text[at:end])
        at = end
    return texts


def _behind_space(text: str, at: int) -> int:
    """Return the position of the first character from `at` on that is not JSON white space."""
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _position_after(text: str, at: int, sign: str) -> int:
    """Return the position after the sign. Raises ValueError if it is not there."""
    if not text.startswith(sign, at):
        raise ValueError(f"{sign!r} is missing at character {at + 1}")
    return at + 1
