"""Delegation tokens as decisions: create, renew, expire, and remove the expired ones.

Owns: how long a token is valid, and which principals may change that: only its owner and its
renewers, not a super user or the principal that requested it. Never: computes an HMAC, and never
decides which principal may request a token for another user
(`controller.requests.delegation_token_requests`).

Follows KIP-48, KIP-373 and Kafka's `DelegationTokenControlManager`.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.metadata.delegation_token import DelegationToken, Tokens
from controller.metadata.snapshot import token_record
from controller.metadata.version import has_delegation_tokens
from controller.random_ids import RandomBytes, random_uuid
from controller.settings import ControllerSettings
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveDelegationTokenRecord

MAX_REMOVALS_PER_TURN = 1_000
"""The limit on expired tokens that one turn removes, so that it delays no other decision; the next
turn removes more."""

_DISABLED = ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
_OLD_LEVEL = ApiError(ErrorCode.UNSUPPORTED_VERSION)
_UNKNOWN = ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
_EXPIRED = ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
_NOT_OWNER = ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


class NewToken(NamedTuple):
    """The values of a token to create."""

    owner: str
    requester: str
    renewers: Sequence[str]
    lifetime_ms: int
    """The requested maximum lifetime; 0 or less: the longest that the broker allows."""


class ExpiryChange(NamedTuple):
    """A change of a token's expiry, to `period_ms` from now."""

    hmac: bytes
    principal: str
    """The authenticated principal of the request."""
    period_ms: int

    def __repr__(self) -> str:
        """Return a text without the HMAC."""
        return f"Change([hidden], {self.principal!r}, {self.period_ms})"


class DelegationTokenControl:
    """The decisions on delegation tokens; `now_ms` is wall-clock time in milliseconds."""

    def __init__(self, settings: ControllerSettings, random_bytes: RandomBytes) -> None:
        self._key = settings.token_key
        self._max_lifetime_ms = settings.delegation_token_max_lifetime_ms
        self._expiry_time_ms = settings.delegation_token_expiry_time_ms
        self._random_bytes = random_bytes

    def create(self, view: DecisionView, new: NewToken, now_ms: int) -> Decision[DelegationToken]:
        """Return the decision that creates a token, which is the reply. The reply is
        DELEGATION_TOKEN_AUTH_DISABLED without a secret key, UNSUPPORTED_VERSION at an old
        `metadata.version`, TOO_MANY_RECORDS for too many renewers."""
        fault = self._disabled_fault(view)
        if fault is not None:
            return Decision(fault)
        if sum(map(len, new.renewers)) > MAX_CONFIG_BYTES_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        longest_ms = self._max_lifetime_ms
        if new.lifetime_ms > 0:
            longest_ms = min(longest_ms, new.lifetime_ms)
        token = DelegationToken(
            self._new_id(view.image.tokens),
            new.owner,
            new.requester,
            tuple(new.renewers),
            issue_ms=now_ms,
            max_ms=now_ms + longest_ms,
            expiry_ms=now_ms + min(longest_ms, self._expiry_time_ms),
        )
        return Decision(token, [token_record(token)])

    def _new_id(self, tokens: Tokens) -> str:
        """Return a random id that no token has, in URL-safe base64."""
        while True:
            drawn = urlsafe_b64encode(random_uuid(self._random_bytes)).decode().rstrip("=")
            if drawn not in tokens:
                return drawn

    def renew(self, view: DecisionView, change: ExpiryChange, now_ms: int) -> Decision[int]:
        """Return the decision that renews a token. The reply is its new expiry time in
        milliseconds, or the error, as for an expired token."""
        token = self._changeable_token(view, change, now_ms)
        if isinstance(token, ApiError):
            return Decision(token)
        period_ms = self._expiry_time_ms
        if change.period_ms > 0:
            period_ms = min(period_ms, change.period_ms)
        return _decide_expiry(token, now_ms + period_ms)

    def expire(self, view: DecisionView, change: ExpiryChange, now_ms: int) -> Decision[int]:
        """Return the decision that changes a token's expiry time, which is the reply, or the error.
        A negative period removes the token, even if it has expired; the reply is then `now_ms`."""
        removed = change.period_ms < 0
        token = self._changeable_token(view, change, None if removed else now_ms)
        if isinstance(token, ApiError):
            return Decision(token)
        if removed:
            return Decision(now_ms, [RemoveDelegationTokenRecord(token.token_id)])
        return _decide_expiry(token, now_ms + change.period_ms)

    def remove_expired(self, view: DecisionView, now_ms: int) -> Decision[bool]:
        """Return the decision that removes expired tokens, at most MAX_REMOVALS_PER_TURN. The reply
        is whether more are left."""
        expired = (token for token in view.image.tokens.values() if token.has_expired(now_ms))
        records = [
            RemoveDelegationTokenRecord(token.token_id)
            for token in islice(expired, MAX_REMOVALS_PER_TURN)
        ]
        return Decision(next(expired, None) is not None, records, atomic=False)

    def _disabled_fault(self, view: DecisionView) -> ApiError | None:
        """Return the error of every request while tokens are disabled or not supported, None
        otherwise."""
        if self._key is None:
            return _DISABLED
        return None if has_delegation_tokens(view.image.metadata_level) else _OLD_LEVEL

    def _changeable_token(
        self, view: DecisionView, change: ExpiryChange, now_ms: int | None
    ) -> DelegationToken | ApiError:
        """Return the token that the principal may change, or the error. With `now_ms`, a token that
        has expired by then is an error; None allows it."""
        fault = self._disabled_fault(view)
        if fault is not None:
            return fault
        assert self._key is not None
        token = self._key.token_of(change.hmac, view.image.tokens)
        if token is None:
            return _UNKNOWN
        if now_ms is not None and token.has_expired(now_ms):
            return _EXPIRED
        return token if token.belongs_to(change.principal) else _NOT_OWNER


def _decide_expiry(token: DelegationToken, expiry_ms: int) -> Decision[int]:
    """Return the decision that sets a token's expiry time, at most its maximum; the reply is that
    time in milliseconds."""
    changed = token._replace(expiry_ms=min(expiry_ms, token.max_ms))
    return Decision(changed.expiry_ms, [token_record(changed)])
