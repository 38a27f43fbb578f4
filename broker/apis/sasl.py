"""SaslHandshake: v0-1, and SaslAuthenticate: v0-2, where they are out of place.

Behaviour: both are refused with ILLEGAL_SASL_STATE; the connection lives. A login is made before
a connection's requests come here, and so is a login that follows another one (KIP-368):
`broker/security/sasl/authenticator.py` takes those frames. What comes here was sent on a listener
without SASL, or by one whose login is done.

Versions: SaslHandshake v1 is followed by SaslAuthenticate, v0 by tokens without a header;
SaslAuthenticate v1 tells how long a login is good, v2 is flexible.
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
    """Logins that are not awaited."""

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.SASL_HANDSHAKE, 0, 1, self.handle_handshake),
            Api(ApiKey.SASL_AUTHENTICATE, 0, 2, self.handle_authenticate),
        ]

    def handle_handshake(
        self, context: RequestContext, request: SaslHandshakeRequest, respond: Respond
    ) -> None:
        protocol = context.security_protocol
        if context.connection is not None and not protocol.startswith("SASL_"):
            context.connection.refused(
                "SASL", f"the listener has no SASL: its protocol is {protocol}"
            )
        respond(SaslHandshakeResponse(_ILLEGAL))

    def handle_authenticate(
        self, context: RequestContext, request: SaslAuthenticateRequest, respond: Respond
    ) -> None:
        respond(SaslAuthenticateResponse(_ILLEGAL, _TEXT))
