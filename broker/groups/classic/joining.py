"""A JoinGroup request on its way through the coordinator: who asks, in which version, and how to
answer.

Owns nothing else; `protocol` decides what becomes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.groups.classic.member import JoinReply, join_refusal
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupRequest


@dataclass(frozen=True, slots=True)
class Joining:
    """A JoinGroup on its way: the request, who sent it, and its reply."""

    request: JoinGroupRequest
    api_version: int
    client_id: str
    client_host: str
    reply: JoinReply

    def refuse(self, error: ErrorCode, member_id: str = "") -> None:
        """Answer with an error."""
        self.reply(join_refusal(error, member_id))

    @property
    def rebalance_timeout_ms(self) -> int:
        """Version 0 has none of its own: the session time-out serves."""
        if self.api_version == 0:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    @property
    def reason(self) -> str:
        """Why the client says that it joins."""
        return self.request.reason or "not provided"
