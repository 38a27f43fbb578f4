"""A JSON Web Token as it is sent: three parts in base64 with dots between.

The two validators (`jwt_validator`, `unsecured_tokens`) share this module: the parts, strict JSON,
dates, and the two results `AcceptedToken` and `TokenRefused`. Never checks a signature. A reason
never has the token or its values, because it is written to the log.

Follows RFC 7515 (compact form) and RFC 7519 (NumericDate).

`TokenRefused` is the same concept as `ottla.plugins.logins.TokenRefused`, which users' classes
raise.
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
"""The longest header that is parsed. It has only an algorithm and a key id, and its sender is not
authenticated yet."""
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_MS_MAX = 2**63 - 1

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AcceptedToken:
    """A token that passed every check."""

    principal_name: str
    expires_at_ms: int
    """The time of the claim `exp`, without the allowed clock skew."""


class TokenRefused(Exception):
    """A rejected token. `str()` is the reason, for the log and not for the client."""

    def __init__(self, reason: str, required_scope: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.required_scope = required_scope
        """The scope that an otherwise valid token lacks; empty: the reason is another one."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """The parts of a token. The claims stay in base64, because the signature is not checked yet."""

    header: Json
    claims: str
    signed: bytes
    """The bytes that the signature covers: header and claims as they were sent."""
    signature: bytes
    """The decoded signature. It may be padded in the token, which RFC 6750 allows at its end."""


def take_apart(token: str) -> CompactToken:
    """Split a token into its parts and decode them, except for the claims. Raises TokenRefused."""
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


def json_object(part: str, part_name: str) -> Json:
    """Return the JSON object in a part in base64. Raises TokenRefused, also for a name that occurs
    twice and for NaN. `part_name` names the part in the reason."""
    try:
        value = json.loads(
            _decoded(part, part_name).decode("utf-8"),
            object_pairs_hook=_each_name_once,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError):
        raise TokenRefused(f"the {part_name} is not JSON, or has a name twice") from None
    if not isinstance(value, dict):
        raise TokenRefused(f"the {part_name} is not a JSON object")
    return value


def date_ms(claims: Json, name: str) -> int:
    """Return the date in a claim, in milliseconds since the epoch. Raises TokenRefused."""
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
    """Return the name in a claim, without blanks around it. Raises TokenRefused."""
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


def _decoded(part: str, part_name: str) -> bytes:
    """Return a part's bytes. Raises TokenRefused, which names the part, if it is not base64url."""
    if _BASE64URL.fullmatch(part):
        try:
            return urlsafe_b64decode(part + "=" * (-len(part) % 4))
        except binascii.Error:
            pass
    raise TokenRefused(f"the {part_name} is not base64 of URLs")


def _each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the JSON object. Raises ValueError if it has a name twice."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name twice")
    return values


def _no_number(text: str) -> NoReturn:
    """Raise ValueError, because NaN and Infinity are no JSON."""
    raise ValueError(text)
