"""SaslHandshake: v0-1, and SaslAuthenticate: v0-2, when no login is expected.

Behaviour: both fail with ILLEGAL_SASL_STATE, and the connection stays open. The frames of a login,
and of a re-authentication (KIP-368), never reach the request handler:
`broker/security/sasl/authenticator.py` takes them. So a request here came on a listener without
SASL, or after the client had logged in.

Versions: SaslHandshake v1 is followed by SaslAuthenticate, v0 by tokens without a header;
SaslAuthenticate v1 has the session lifetime, v2 is flexible.
"""

from __future__ import annotations

from broker.requests.context import Api, RequestContext, Respond
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

_ILLEGAL = int(ErrorCode.ILLEGAL_SASL_STATE)
_TEXT = "SaslAuthenticate request received after successful authentication"


class SaslApi:
    """The handlers of the two APIs, for logins that are not expected."""

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.SASL_HANDSHAKE, 0, 1, self.handle_handshake),
            Api(ApiKey.SASL_AUTHENTICATE, 0, 2, self.handle_authenticate),
        ]

    def handle_handshake(
        self, context: RequestContext, request: SaslHandshakeRequest, respond: Respond
    ) -> None:
        """Answer ILLEGAL_SASL_STATE: logins are handled before a request gets here.

        On a listener without SASL, also log that the client tried SASL.
        """
        protocol = context.security_protocol
        if context.connection is not None and not protocol.startswith("SASL_"):
            context.connection.refused(
                "SASL", f"the listener has no SASL: its protocol is {protocol}"
            )
        respond(SaslHandshakeResponse(_ILLEGAL))

    def handle_authenticate(
        self, context: RequestContext, request: SaslAuthenticateRequest, respond: Respond
    ) -> None:
        """Answer ILLEGAL_SASL_STATE: logins are handled before a request gets here."""
        respond(SaslAuthenticateResponse(_ILLEGAL, _TEXT))
