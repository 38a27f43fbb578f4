"""Whether a signed token lets somebody in, and as whom.

A core: keys and time come in as arguments. It checks what Apache Kafka 4.3 was seen to check, in
this order: the form, the algorithm, the key, the signature, then the claims. Nothing of the claims
is looked at before the signature holds. Each refusal has its reason, for the log alone: the client
hears `invalid_token`, whatever it was.

Different on purpose: HMAC is refused, also where the issuer's set has a secret, and a key is good
for its `alg` alone, where it has one. Follows KIP-768, KIP-1139, RFC 7515, RFC 7519, and RFC 8725
(what goes wrong with tokens).
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
    """The issuer's keys have none of that id: they may have changed since they were read."""


class JwtValidator:
    """The checks of one listener."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._skew_ms = settings.clock_skew_s * 1000

    def validate(self, token: str, keys: KeySet, now_ms: int) -> AcceptedToken:
        """Who the token lets in, and until when. Raises TokenRefused, UnknownKey."""
        parts = take_apart(token)
        _check_signature(parts, keys)
        claims = json_object(parts.claims, "payload")
        expires_at_ms = self._check_dates(claims, now_ms)
        self._check_addressee(claims)
        _check_scope(claims, self._settings.scope_claim_name)
        name = principal_name(claims, self._settings.sub_claim_name)
        return AcceptedToken(name, expires_at_ms)

    def _check_dates(self, claims: Json, now_ms: int) -> int:
        """Until when the token is good, in whole seconds as Kafka counts them."""
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
        self._check_audience(claims)
        issuer, expected = claims.get("iss"), self._settings.expected_issuer
        if "iss" in claims and not isinstance(issuer, str):
            raise TokenRefused("claim iss is not a text")
        if expected is not None and issuer != expected:
            raise TokenRefused("claim iss is not the expected issuer")
        if "jti" in claims and not isinstance(claims["jti"], str):
            raise TokenRefused("claim jti is not a text")

    def _check_audience(self, claims: Json) -> None:
        """RFC 7519 4.1.3: a token for somebody is refused by all who were not told their name."""
        expected = self._settings.expected_audience
        if "aud" not in claims:
            if expected:
                raise TokenRefused("claim aud is missing")
            return
        audience = claims["aud"]
        named = [audience] if isinstance(audience, str) else audience
        if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
            raise TokenRefused("claim aud is neither a text nor a list of texts")
        if not expected:
            raise TokenRefused(
                "claim aud names an audience, and sasl.oauthbearer.expected.audience is not set"
            )
        if not any(one in expected for one in named):
            raise TokenRefused("claim aud names none of the expected audience")


def _check_signature(token: CompactToken, keys: KeySet) -> None:
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
        raise _no_key(kid if isinstance(kid, str) else None, keys)
    if not key.checks[algorithm](token.signed, token.signature):
        raise TokenRefused("the signature does not fit the key")


def _no_key(kid: str | None, keys: KeySet) -> TokenRefused:
    if (why := keys.why_not(kid)) is not None:
        return TokenRefused(f"no key fits: {why}")
    if kid is None:
        return TokenRefused("the token names no key, and none is for its algorithm")
    shown = ascii(kid[:_SHOWN_MAX])
    return UnknownKey(f"the issuer has no key with the id {shown}")


def _check_scope(claims: Json, name: str) -> None:
    """A scope may be missing. One that is there is a text, or a list of different ones."""
    scope = claims.get(name)
    if isinstance(scope, str):
        scope = [scope]
    if not isinstance(scope, list):
        return
    seen: set[str] = set()
    for one in scope:
        if not isinstance(one, str) or not one.strip():
            raise TokenRefused(f"claim {name} has an empty entry, or one that is not a text")
        if one.strip() in seen:
            raise TokenRefused(f"claim {name} has an entry twice")
        seen.add(one.strip())
