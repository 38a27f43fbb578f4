"""CreateDelegationToken v1-3, RenewDelegationToken v1-2, ExpireDelegationToken v1-2,
DescribeDelegationToken v1-3 (KIP-48, KIP-373).

Behaviour: the controller decides the first three; this broker answers Describe from its own image.
All of them fail with DELEGATION_TOKEN_REQUEST_NOT_ALLOWED if the client is not authenticated (over
PLAINTEXT, or TLS without a certificate), or if it has logged in by a token. Without
`delegation.token.secret.key` there are no tokens: DELEGATION_TOKEN_AUTH_DISABLED.

Rights: a token for another owner needs CreateTokens on that User; for the others see
`controller.requests.delegation_token_requests`.
"""

from __future__ import annotations

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, Handle, RequestContext, Respond
from controller.metadata.delegation_token import TokenKey
from controller.requests.delegation_token_requests import (
    creation_fault,
    described_tokens,
    may_use_tokens,
    refused_creation,
)
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.describe_delegation_token import (
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

_NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class DelegationTokenApis:
    """The handlers of the four APIs."""

    def __init__(self, metadata: ImageSource, key: TokenKey | None, controller: Handle) -> None:
        """Serve the APIs. `key` is made of `delegation.token.secret.key`; None: there are no
        tokens."""
        self._metadata = metadata
        self._key = key
        self._controller = controller

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3, self.create),
            Api(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2, self.renew),
            Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2, self.expire),
            Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3, self.describe),
        ]

    def create(
        self, context: RequestContext, request: CreateDelegationTokenRequest, respond: Respond
    ) -> None:
        """Forward a valid request of a client that may use tokens to the controller, which answers.
        Answer others here, with an error."""
        error = _NOT_ALLOWED if not _may_use_tokens(context) else creation_fault(context, request)
        if error is not None:
            respond(refused_creation(context, request, error))
        else:
            self._controller(context, request, respond)

    def renew(
        self, context: RequestContext, request: RenewDelegationTokenRequest, respond: Respond
    ) -> None:
        """Forward the request to the controller, which answers. A client that may not use tokens
        gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED here."""
        if _may_use_tokens(context):
            self._controller(context, request, respond)
        else:
            respond(RenewDelegationTokenResponse(_NOT_ALLOWED, -1))

    def expire(
        self, context: RequestContext, request: ExpireDelegationTokenRequest, respond: Respond
    ) -> None:
        """Forward the request to the controller, which answers. A client that may not use tokens
        gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED here."""
        if _may_use_tokens(context):
            self._controller(context, request, respond)
        else:
            respond(ExpireDelegationTokenResponse(_NOT_ALLOWED, -1))

    def describe(
        self, context: RequestContext, request: DescribeDelegationTokenRequest, respond: Respond
    ) -> None:
        """Answer from the metadata image, without the controller. A client that may not use tokens
        gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED."""
        if _may_use_tokens(context):
            tokens = self._metadata.image.tokens
            respond(described_tokens(context, request, self._key, tokens))
        else:
            respond(DescribeDelegationTokenResponse(_NOT_ALLOWED))


def _may_use_tokens(context: RequestContext) -> bool:
    """Return False for PLAINTEXT clients and for those that `may_use_tokens` rejects."""
    return context.security_protocol != "PLAINTEXT" and may_use_tokens(context)
