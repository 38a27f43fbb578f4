"""A JSON Web Token as it is sent: three parts in base64 with dots between.

What the two validators (`jwt_validator`, `unsecured_tokens`) share: the parts, strict JSON, dates,
and the two outcomes `AcceptedToken` and `TokenRefused`. Never checks a signature. A reason never
holds the token, nor what stands in it: it is written to the log.

Follows RFC 7515 (compact form) and RFC 7519 (NumericDate).
"""

from __future__ import annotations

import binascii
import json
import math
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

HEADER_CHARACTERS_MAX = 8192
"""A header names an algorithm and a key. It is read before anything is known about who sent it."""
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_MS_MAX = 2**63 - 1

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AcceptedToken:
    """A token that passed every check."""

    principal_name: str
    expires_at_ms: int
    """Its own end, without the skew that is allowed to clocks."""


class TokenRefused(Exception):
    """A token is not taken. `str()` is the reason, for the log and not for the client."""

    def __init__(self, reason: str, required_scope: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.required_scope = required_scope
        """Not empty: all is well but for this scope."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """The parts of a token. The claims are not decoded, for nobody has vouched for them yet."""

    header: Json
    claims: str
    signed: bytes
    """What the signature is made of: header and claims as they were sent."""
    signature: bytes
    """Some issuers pad it, which RFC 6750 allows at the end of a token."""


def take_apart(token: str) -> CompactToken:
    """The parts of a token. Raises TokenRefused."""
    parts = token.split(".", 3)
    if len(parts) != 3:
        raise TokenRefused("the token has not three parts")
    header, claims, signature = parts
    if not header or not claims:
        raise TokenRefused("the token has an empty part")
    if len(header) > HEADER_CHARACTERS_MAX:
        raise TokenRefused(f"the header has more than {HEADER_CHARACTERS_MAX} characters")
    return CompactToken(
        json_object(header, "header"),
        claims,
        f"{header}.{claims}".encode("ascii", "replace"),
        _decoded(signature.rstrip("="), "signature"),
    )


def json_object(part: str, what: str) -> Json:
    """The JSON object in a part in base64: each name once, no NaN. Raises TokenRefused."""
    try:
        found = json.loads(
            _decoded(part, what).decode("utf-8"),
            object_pairs_hook=_each_name_once,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError):
        raise TokenRefused(f"the {what} is not JSON, or has a name twice") from None
    if not isinstance(found, dict):
        raise TokenRefused(f"the {what} is not a JSON object")
    return found


def date_ms(claims: Json, name: str) -> int:
    """A date of the claims in milliseconds since the epoch. Raises TokenRefused."""
    if name not in claims:
        raise TokenRefused(f"claim {name} is missing")
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TokenRefused(f"claim {name} is not a date in seconds")
    milliseconds = int(value * 1000)
    if not -_MS_MAX <= milliseconds <= _MS_MAX:
        raise TokenRefused(f"claim {name} is no date that can be")
    return milliseconds


def principal_name(claims: Json, name: str) -> str:
    """The name in a claim, without blanks around it. Raises TokenRefused."""
    if name not in claims:
        raise TokenRefused(f"claim {name} is missing")
    value = claims[name]
    if not isinstance(value, str):
        raise TokenRefused(f"claim {name} is not a text")
    if not (trimmed := value.strip()):
        raise TokenRefused(f"claim {name} is empty")
    try:
        trimmed.encode("utf-8")
    except UnicodeEncodeError:
        raise TokenRefused(f"claim {name} is not Unicode") from None
    return trimmed


def _decoded(part: str, what: str) -> bytes:
    if _BASE64URL.fullmatch(part):
        try:
            return urlsafe_b64decode(part + "=" * (-len(part) % 4))
        except binascii.Error:
            pass
    raise TokenRefused(f"the {what} is not base64 of URLs")


def _each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
