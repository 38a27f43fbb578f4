"""Delegation tokens of a data folder that moves between brokers: whoever has one gets in at both.

By raw requests, on a listener where users log in by SCRAM.
"""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

from broker.security.sasl.server_mechanism import SaslRefused
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.clients.wire_client import WireClient
from tests.tools.waiting import wait_until

SECRET = {"delegation.token.secret.key": "a key that both have"}
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


class Owner(NamedTuple):
    """Who has tokens, and how to log in as that one."""

    port: int
    mechanism: str
    name: str
    password: str

    def _connection(self) -> WireClient:
        client = WireClient(self.port)
        client.log_in(self.mechanism, self.name, self.password)
        return client

    def make(self) -> bytes:
        """A token: its HMAC."""
        with self._connection() as client:
            made = client.call(CreateDelegationTokenRequest(None, None, [], -1), 3)
        assert made.error_code == 0, made
        self._until(bytes(made.hmac), there=True)
        return bytes(made.hmac)

    def renew(self, hmac: bytes, period_ms: int) -> int:
        """Until when."""
        with self._connection() as client:
            done = client.call(RenewDelegationTokenRequest(hmac, period_ms), 2)
        assert done.error_code == 0, done
        return int(done.expiry_timestamp_ms)

    def end(self, hmac: bytes) -> None:
        """It is removed."""
        with self._connection() as client:
            assert client.call(ExpireDelegationTokenRequest(hmac, -1), 2).error_code == 0
        self._until(hmac, there=False)

    def tokens(self) -> dict[bytes, tuple[str, int]]:
        """By HMAC, id and when each expires."""
        with self._connection() as client:
            told: DescribeDelegationTokenResponse = client.call(
                DescribeDelegationTokenRequest(None), 3
            )
        assert told.error_code == 0
        return {bytes(one.hmac): (one.token_id, one.expiry_timestamp) for one in told.tokens}

    def topics_by(self, hmac: bytes, token_id: str = "") -> set[str] | None:
        """What who has that token is told of, logged in by either mechanism; None: gets in by
        none."""
        name = token_id or self.tokens()[hmac][0]
        seen = [_topics(self.port, one, name, b64encode(hmac).decode()) for one in MECHANISMS]
        assert seen[0] == seen[1]
        return seen[0]

    def _until(self, hmac: bytes, *, there: bool) -> None:
        wait_until(lambda: (hmac in self.tokens()) is there, "the token, made or gone")


def _topics(port: int, mechanism: str, name: str, password: str) -> set[str] | None:
    with WireClient(port) as client:
        try:
            client.log_in(mechanism, name, password, by_token=True)
        except SaslRefused:
            return None
        return {one.name for one in client.call(MetadataRequest(None), 12).topics}
