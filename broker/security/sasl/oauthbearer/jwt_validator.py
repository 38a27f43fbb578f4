"""The validation of a signed token: its principal name and its expiry, or a reason to reject it.

Never reads a clock or a key: both are arguments. It makes the checks that an Apache Kafka was
observed to make, in this order: the form, the algorithm, the key, the signature, then the claims.
No claim is read before the signature is valid. Each rejection has a reason, for the log alone: the
client always gets `invalid_token`.

Different on purpose: HMAC is rejected, even if the issuer's set has a secret, and a key with an
`alg` is used for that algorithm alone. Follows KIP-768, KIP-1139, RFC 7515, RFC 7519, and RFC 8725
(best practices for tokens).
"""

from __future__ import annotations

from broker.config.security_settings import OAuthSettings
from broker.security.sasl.oauthbearer.jwks import ALGORITHMS, KeySet
from broker.security.sasl.oauthbearer.jwt_compact import (
    AcceptedToken,
    CompactToken,
    Json,
    TokenRefused,
    date_ms,
    json_object,
    principal_name,
    take_apart,
)

_SHOWN_MAX = 100


class UnknownKey(TokenRefused):
    """A rejected token with an unknown key id. The keys may have changed since they were read."""


class JwtValidator:
    """The checks of signed tokens, with one listener's settings."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._skew_ms = settings.clock_skew_s * 1000

    def validate(self, token: str, keys: KeySet, now_ms: int) -> AcceptedToken:
        """Return the token's principal name and expiry. Raises TokenRefused, or UnknownKey if
        `keys` lacks the token's key id."""
        parts = take_apart(token)
        _check_signature(parts, keys)
        claims = json_object(parts.claims, "payload")
        expires_at_ms = self._check_dates(claims, now_ms)
        self._check_addressee(claims)
        _check_scope(claims, self._settings.scope_claim_name)
        name = principal_name(claims, self._settings.sub_claim_name)
        return AcceptedToken(name, expires_at_ms)

    def _check_dates(self, claims: Json, now_ms: int) -> int:
        """Check `exp`, `iat` and `nbf`. Return the expiry in ms, rounded down to a whole second as
        in Kafka. Raises TokenRefused."""
        expires_at_ms = date_ms(claims, "exp") // 1000 * 1000
        if now_ms - self._skew_ms >= expires_at_ms:
            raise TokenRefused(f"the token expired {(now_ms - expires_at_ms) // 1000} s ago")
        issued_at_ms = date_ms(claims, "iat")
        if issued_at_ms < 0:
            raise TokenRefused("claim iat is negative")
        if issued_at_ms > expires_at_ms:
            raise TokenRefused("the token expires before it was issued")
        if "nbf" in claims:
            not_before_ms = date_ms(claims, "nbf")
            if now_ms + self._skew_ms < not_before_ms:
                wait_s = (not_before_ms - now_ms) // 1000
                raise TokenRefused(f"the token is not good before {wait_s} s from now (nbf)")
            if not_before_ms > expires_at_ms:
                raise TokenRefused("the token expires before it is good (nbf)")
        return expires_at_ms

    def _check_addressee(self, claims: Json) -> None:
        """Raise TokenRefused if audience or issuer is not the expected, or `jti` is no text."""
        self._check_audience(claims)
        issuer, expected = claims.get("iss"), self._settings.expected_issuer
        if "iss" in claims and not isinstance(issuer, str):
            raise TokenRefused("claim iss is not a text")
        if expected is not None and issuer != expected:
            raise TokenRefused("claim iss is not the expected issuer")
        if "jti" in claims and not isinstance(claims["jti"], str):
            raise TokenRefused("claim jti is not a text")

    def _check_audience(self, claims: Json) -> None:
        """Raise TokenRefused if `aud` names none of the expected audiences."""
        expected = self._settings.expected_audience
        if not expected:
            return
        if "aud" not in claims:
            raise TokenRefused("claim aud is missing")
        audience = claims["aud"]
        names = [audience] if isinstance(audience, str) else audience
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TokenRefused("claim aud is neither a text nor a list of texts")
        if not any(name in expected for name in names):
            raise TokenRefused("claim aud names none of the expected audience")


def _check_signature(token: CompactToken, keys: KeySet) -> None:
    """Raise TokenRefused if no key confirms the signature; UnknownKey if new keys might."""
    algorithm, kid = token.header.get("alg"), token.header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenRefused("the algorithm is missing, or none that is taken")
    if "kid" in token.header and not (isinstance(kid, str) and kid):
        raise TokenRefused("the id of the key is not a text")
    if token.header.get("crit"):
        raise TokenRefused("the header asks for what is not known (crit)")
    if token.header.get("cty") is not None:
        raise TokenRefused("the token holds another one (cty)")
    if not token.signature:
        raise TokenRefused("the token has no signature")
    key = keys.find(kid if isinstance(kid, str) else None, algorithm)
    if key is None:
        raise _no_key_refusal(kid if isinstance(kid, str) else None, keys)
    if not key.checks[algorithm](token.signed, token.signature):
        raise TokenRefused("the signature does not fit the key")


def _no_key_refusal(kid: str | None, keys: KeySet) -> TokenRefused:
    """Return the refusal of a token without a fitting key.

    It is UnknownKey if the issuer may have new keys.
    """
    if (why := keys.why_not(kid)) is not None:
        return TokenRefused(f"no key fits: {why}")
    if kid is None:
        return TokenRefused("the token names no key, and none is for its algorithm")
    shown = ascii(kid[:_SHOWN_MAX])
    return UnknownKey(f"the issuer has no key with the id {shown}")


def _check_scope(claims: Json, name: str) -> None:
    """Check the scope, if it is a text or a list: its entries must be different, non-empty texts. A
    scope of any other type is ignored. Raises TokenRefused."""
    scope = claims.get(name)
    if isinstance(scope, str):
        scope = [scope]
    if not isinstance(scope, list):
        return
    seen: set[str] = set()
    for entry in scope:
        if not isinstance(entry, str) or not entry.strip():
            raise TokenRefused(f"claim {name} has an empty entry, or one that is not a text")
        if entry.strip() in seen:
            raise TokenRefused(f"claim {name} has an entry twice")
        seen.add(entry.strip())
