"""CreateDelegationToken 1-3, RenewDelegationToken 1-2 and ExpireDelegationToken 1-2 as commands,
and DescribeDelegationToken 1-3 from an image.

A client that is not authenticated, or that authenticated with a token, gets
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. A token for another owner needs CreateTokens on the User
`User:<name>` (KIP-373). Renew and Expire are for the owner and the renewers. Describe shows the
tokens that the client owns, may renew or has requested; other tokens need Describe on the
DelegationToken of that id, or DescribeTokens on the User that owns it, and are left out otherwise.

A broker rejects invalid requests, forwards the first three kinds, and answers Describe from its own
image (`broker.apis.delegation_tokens`). Every controller answers Describe too; Kafka's controllers
do not.

Owns: the checks on a request, and the form of the responses. Never: decides how long a token is
valid (`controller.decisions.delegation_token_control`).

Follows KIP-48, KIP-373 and Kafka's `ControllerApis`, `KafkaApis` and `DelegationTokenManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.delegation_token_control import ExpiryChange, NewToken
from controller.metadata.delegation_token import DelegationToken, TokenKey, Tokens
from controller.quorum_controller import QuorumController
from ground.ports import Scheduler
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

Respond = Callable[[Any], None]
DecideExpiry = Callable[[DecisionView, ExpiryChange, int], Decision[int]]

USER = "User"
_ANONYMOUS = "User:ANONYMOUS"


class TokenContext(Protocol):
    """The client that sent a request."""

    @property
    def principal(self) -> str: ...
    @property
    def token_authenticated(self) -> bool: ...
    @property
    def rights(self) -> Rights: ...


class DelegationTokenRequests:
    """The handlers of the four requests."""

    def __init__(
        self, key: TokenKey | None, controller: QuorumController, scheduler: Scheduler
    ) -> None:
        """`key` makes the HMACs; None: delegation tokens are disabled."""
        self._key = key
        self._controller = controller
        self._scheduler = scheduler

    def create(
        self, context: TokenContext, request: CreateDelegationTokenRequest, respond: Respond
    ) -> None:
        """Create a delegation token, and respond with it and its HMAC after the commit. Respond
        with an error at once if the request is invalid or not allowed (`creation_fault`)."""
        error = creation_fault(context, request)
        if error is not None:
            respond(refused_creation(context, request, error))
            return
        new_token = NewToken(
            owner_of(context, request),
            context.principal,
            [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in request.renewers],
            request.max_lifetime_ms,
        )

        def decide(view: DecisionView) -> Decision[DelegationToken]:
            return self._controller.tokens.create(view, new_token, self._scheduler.wall_ms())

        def reply(outcome: DelegationToken | ApiError) -> None:
            """Respond with the new token and its HMAC, or with the error."""
            if isinstance(outcome, ApiError):
                respond(refused_creation(context, request, outcome.code, time_ms=0))
            else:
                respond(self._creation_response(outcome))

        self._controller.submit("create delegation token", decide, reply)

    def _creation_response(self, token: DelegationToken) -> CreateDelegationTokenResponse:
        """Return the response with the values of the new token and with its HMAC. Needs a key."""
        assert self._key is not None
        return CreateDelegationTokenResponse(
            ErrorCode.NONE,
            *_split(token.owner),
            *_split(token.requester),
            token.issue_ms,
            token.expiry_ms,
            token.max_ms,
            token.token_id,
            self._key.hmac_of(token.token_id),
        )

    def renew(
        self, context: TokenContext, request: RenewDelegationTokenRequest, respond: Respond
    ) -> None:
        """Extend the expiry of the token with this HMAC, and respond with the new expiry after the
        commit. The token's owner and renewers may do this."""

        def answer(error_code: int, expiry_ms: int) -> None:
            respond(RenewDelegationTokenResponse(error_code, expiry_ms))

        change = ExpiryChange(bytes(request.hmac), context.principal, request.renew_period_ms)
        self._change(
            "renew delegation token", self._controller.tokens.renew, context, change, answer
        )

    def expire(
        self, context: TokenContext, request: ExpireDelegationTokenRequest, respond: Respond
    ) -> None:
        """Change the expiry of the token with this HMAC, or remove it if the period is negative.
        Respond with the new expiry after the commit. The token's owner and renewers may do this."""

        def answer(error_code: int, expiry_ms: int) -> None:
            respond(ExpireDelegationTokenResponse(error_code, expiry_ms))

        change = ExpiryChange(bytes(request.hmac), context.principal, request.expiry_time_period_ms)
        self._change(
            "expire delegation token", self._controller.tokens.expire, context, change, answer
        )

    def _change(
        self,
        name: str,
        decide_expiry: DecideExpiry,
        context: TokenContext,
        change: ExpiryChange,
        answer: Callable[[int, int], None],
    ) -> None:
        """Submit a change of a token's expiry. After the commit, `answer` gets the error code and
        the expiry in ms since 1970; after an error, 0 or -1 as expiry. A client without a login, or
        with a token's login, gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED at once."""
        if not may_use_tokens(context):
            answer(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
            return

        def decide(view: DecisionView) -> Decision[int]:
            return decide_expiry(view, change, self._scheduler.wall_ms())

        def reply(outcome: int | ApiError) -> None:
            """Pass the new expiry, or the error code and 0, to `answer`."""
            if isinstance(outcome, ApiError):
                answer(outcome.code, 0)
            else:
                answer(ErrorCode.NONE, outcome)

        self._controller.submit(name, decide, reply)

    def describe(
        self, context: TokenContext, request: DescribeDelegationTokenRequest, respond: Respond
    ) -> None:
        """Respond at once with the committed tokens that the request names and the client may
        see."""
        tokens = self._controller.committed_image.tokens
        respond(described_tokens(context, request, self._key, tokens))


# --- checks --------------------------------------------------------------------------------------


def may_use_tokens(context: TokenContext) -> bool:
    """Return whether the client may use the token APIs: it has authenticated, and not with a token.
    For a forwarded request no more is known here; the broker also checks the listener."""
    return context.principal != _ANONYMOUS and not context.token_authenticated


def creation_fault(context: TokenContext, request: CreateDelegationTokenRequest) -> int | None:
    """Return the error code of a creation; None if it is valid, as far as this does not depend on
    the metadata. Errors: a client that may not use tokens, an owner for which it lacks
    CreateTokens, a principal that is not a User."""
    if not may_use_tokens(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    if request.owner_principal_name and request.owner_principal_type is None:
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    owner = owner_of(context, request)
    if owner != context.principal:
        rights = context.rights
        if not rights.allows(Operation.CREATE_TOKENS, Resource.USER, owner):
            return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    # A client that logs in with a token has a User principal, so the owner must be a User too.
    kinds = [_split(owner)[0], *(renewer.principal_type for renewer in request.renewers)]
    return None if kinds.count(USER) == len(kinds) else ErrorCode.INVALID_PRINCIPAL_TYPE


def owner_of(context: TokenContext, request: CreateDelegationTokenRequest) -> str:
    """Return the owner of the requested token, as `Type:name`: the client's principal, unless the
    request names another owner."""
    if not request.owner_principal_name:
        return context.principal
    return f"{request.owner_principal_type or ''}:{request.owner_principal_name}"


# --- responses -----------------------------------------------------------------------------------


def refused_creation(
    context: TokenContext, request: CreateDelegationTokenRequest, error: int, time_ms: int = -1
) -> CreateDelegationTokenResponse:
    """Return the response with `error`, the owner and the requester; `time_ms` is the value of its
    three timestamps."""
    return CreateDelegationTokenResponse(
        error,
        *_split(owner_of(context, request)),
        *_split(context.principal),
        time_ms,
        time_ms,
        time_ms,
    )


def described_tokens(
    context: TokenContext,
    request: DescribeDelegationTokenRequest,
    key: TokenKey | None,
    tokens: Tokens,
) -> DescribeDelegationTokenResponse:
    """Return the response with the tokens that the client may see, with their HMACs. If the request
    names owners, leave out tokens that no such principal owns, requested or may renew. Respond with
    an error if the client may not use tokens or they are disabled."""
    if not may_use_tokens(context):
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if key is None:
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    requested_owners = request.owners
    owners = (
        None
        if requested_owners is None
        else {f"{owner.principal_type}:{owner.principal_name}" for owner in requested_owners}
    )
    return DescribeDelegationTokenResponse(
        tokens=[
            _description(token, key)
            for token in tokens.values()
            if _is_requested(token, owners) and _may_see(context, token)
        ]
    )


def _is_requested(token: DelegationToken, owners: set[str] | None) -> bool:
    """Return whether a principal in `owners` owns, requested or may renew the token; None: all
    tokens are requested."""
    if owners is None:
        return True
    return not owners.isdisjoint((token.owner, token.requester, *token.renewers))


def _may_see(context: TokenContext, token: DelegationToken) -> bool:
    """Return whether the client may see a token: as its owner, requester or renewer, or by Describe
    on the token or DescribeTokens on its owner."""
    if token.concerns(context.principal):
        return True
    rights = context.rights
    return rights.allows(
        Operation.DESCRIBE, Resource.DELEGATION_TOKEN, token.token_id, audited=False
    ) or rights.allows(Operation.DESCRIBE_TOKENS, Resource.USER, token.owner, audited=False)


def _description(token: DelegationToken, key: TokenKey) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        *_split(token.owner),
        *_split(token.requester),
        token.issue_ms,
        token.expiry_ms,
        token.max_ms,
        token.token_id,
        key.hmac_of(token.token_id),
        [DescribedDelegationTokenRenewer(*_split(renewer)) for renewer in token.renewers],
    )


def _split(principal: str) -> tuple[str, str]:
    """Return the type and the name of a principal such as `User:alice`."""
    kind, _, name = principal.partition(":")
    return kind, name
