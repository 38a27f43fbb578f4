"""Delegation tokens as decisions: one is made, renewed, let expire, and those that expired go.

Owns: how long a token is good, and who may change that: its owner and its renewers, nobody else,
be it a super user or who asked for it. Never: an HMAC, and never who may ask for the token of
another (`controller.requests.delegation_token_requests`).

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
    View,
)
from controller.metadata.delegation_token import DelegationToken, Tokens
from controller.metadata.snapshot import token_record
from controller.metadata.version import has_delegation_tokens
from controller.random_ids import RandomBytes, random_uuid
from controller.settings import ControllerSettings
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveDelegationTokenRecord

MAX_REMOVALS_PER_TURN = 1_000
"""Of expired tokens. The rest follows in the next turn: none holds up other decisions."""

_DISABLED = ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
_OLD_LEVEL = ApiError(ErrorCode.UNSUPPORTED_VERSION)
_UNKNOWN = ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
_EXPIRED = ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
_NOT_ITS = ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


class NewToken(NamedTuple):
    """What is asked for."""

    owner: str
    requester: str
    renewers: Sequence[str]
    lifetime_ms: int
    """At most so long; 0 and less: as long as tokens may be."""


class Change(NamedTuple):
    """Whose token is to be good for how long from now on."""

    hmac: bytes
    principal: str
    """Who asks."""
    period_ms: int

    def __repr__(self) -> str:
        return f"Change([hidden], {self.principal!r}, {self.period_ms})"


class DelegationTokenControl:
    """Decides on delegation tokens. `now_ms` is the wall clock's."""

    def __init__(self, settings: ControllerSettings, random_bytes: RandomBytes) -> None:
        self._key = settings.token_key
        self._max_lifetime_ms = settings.delegation_token_max_lifetime_ms
        self._expiry_time_ms = settings.delegation_token_expiry_time_ms
        self._random_bytes = random_bytes

    def create(self, view: View, asked: NewToken, now_ms: int) -> Decision[DelegationToken]:
        """Make one."""
        unable = self._unable(view)
        if unable is not None:
            return Decision(unable)
        if sum(map(len, asked.renewers)) > MAX_CONFIG_BYTES_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        longest_ms = self._max_lifetime_ms
        if asked.lifetime_ms > 0:
            longest_ms = min(longest_ms, asked.lifetime_ms)
        token = DelegationToken(
            self._new_id(view.image.tokens),
            asked.owner,
            asked.requester,
            tuple(asked.renewers),
            issue_ms=now_ms,
            max_ms=now_ms + longest_ms,
            expiry_ms=now_ms + min(longest_ms, self._expiry_time_ms),
        )
        return Decision(token, [token_record(token)])

    def _new_id(self, tokens: Tokens) -> str:
        while True:
            drawn = urlsafe_b64encode(random_uuid(self._random_bytes)).decode().rstrip("=")
            if drawn not in tokens:
                return drawn

    def renew(self, view: View, change: Change, now_ms: int) -> Decision[int]:
        """The reply is when it expires now."""
        found = self._found(view, change, now_ms)
        if isinstance(found, ApiError):
            return Decision(found)
        period_ms = self._expiry_time_ms
        if change.period_ms > 0:
            period_ms = min(period_ms, change.period_ms)
        return _expires(found, now_ms + period_ms)

    def expire(self, view: View, change: Change, now_ms: int) -> Decision[int]:
        """With a negative period it is removed, also where it has expired."""
        removed = change.period_ms < 0
        found = self._found(view, change, None if removed else now_ms)
        if isinstance(found, ApiError):
            return Decision(found)
        if removed:
            return Decision(now_ms, [RemoveDelegationTokenRecord(found.token_id)])
        return _expires(found, now_ms + change.period_ms)

    def remove_expired(self, view: View, now_ms: int) -> Decision[bool]:
        """The reply is whether there are more."""
        expired = (one for one in view.image.tokens.values() if one.has_expired(now_ms))
        records = [
            RemoveDelegationTokenRecord(one.token_id)
            for one in islice(expired, MAX_REMOVALS_PER_TURN)
        ]
        return Decision(next(expired, None) is not None, records, atomic=False)

    def _unable(self, view: View) -> ApiError | None:
        """Why there are no tokens at all."""
        if self._key is None:
            return _DISABLED
        return None if has_delegation_tokens(view.image.metadata_level) else _OLD_LEVEL

    def _found(self, view: View, change: Change, now_ms: int | None) -> DelegationToken | ApiError:
        """The token that one may change. `now_ms`: when it must not have expired; None: it may."""
        unable = self._unable(view)
        if unable is not None:
            return unable
        assert self._key is not None
        token = self._key.token_of(change.hmac, view.image.tokens)
        if token is None:
            return _UNKNOWN
        if now_ms is not None and token.has_expired(now_ms):
            return _EXPIRED
        return token if token.belongs_to(change.principal) else _NOT_ITS


def _expires(token: DelegationToken, expiry_ms: int) -> Decision[int]:
    changed = token._replace(expiry_ms=min(expiry_ms, token.max_ms))
    return Decision(changed.expiry_ms, [token_record(changed)])
