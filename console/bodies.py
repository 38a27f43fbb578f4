"""Bodies of requests: JSON whose numbers and nesting endpoints can rely on. Pure."""

from __future__ import annotations

import json
import math

from console.endpoints import BadAsk

NESTING_MAX = 200
"""The levels of objects and lists in a body; the deepest form of the page has three."""


def body_of(data: bytes) -> object:
    """Return the value of a JSON text. Raises BadAsk, also for a number that is not finite and for
    more than NESTING_MAX levels."""
    try:
        body = json.loads(data, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise BadAsk("the request is not JSON") from None
    _check_nesting(body)
    return body


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadAsk(f"{text[:20]} in the request is not a finite number")
    return number


def _check_nesting(body: object) -> None:
    level = [body]
    for _ in range(NESTING_MAX):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> BadAsk:
    return BadAsk(f"the request is nested deeper than {NESTING_MAX} levels")
