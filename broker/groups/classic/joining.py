"""A JoinGroup request in the coordinator, with its client, its version, and its reply.

Owns nothing else, and never decides: `protocol` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.groups.classic.member import JoinReply, join_refusal
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupRequest


@dataclass(frozen=True, slots=True)
class Joining:
    """A JoinGroup in progress: the request, its client, and its reply."""

    request: JoinGroupRequest
    api_version: int
    client_id: str
    client_host: str
    reply: JoinReply

    def refuse(self, error: ErrorCode, member_id: str = "") -> None:
        """Answer the JoinGroup with `error` and `member_id`."""
        self.reply(join_refusal(error, member_id))

    @property
    def rebalance_timeout_ms(self) -> int:
        """The rebalance time-out; in version 0, which has none, the session time-out."""
        if self.api_version == 0:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    @property
    def reason(self) -> str:
        """The client's reason to join, for the log."""
        return self.request.reason or "not provided"
