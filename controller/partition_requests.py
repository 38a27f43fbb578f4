"""AlterPartition 2-3 as a command.

Owns: answers to a request that is refused whole. Never: checks what the deciders check.
Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.alter_partition import alter_partitions
from controller.decision import Decision, View
from controller.quorum_controller import QuorumController
from protocol.errors import ApiError
from protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

Respond = Callable[[Any], None]


class PartitionRequests:
    """Handlers by API."""

    def __init__(self, controller: QuorumController) -> None:
        self._controller = controller
        self._rules = controller.leadership.rules

    def alter_partition(
        self, _context: object, request: AlterPartitionRequest, respond: Respond
    ) -> None:
        """Answer an AlterPartition request."""

        def decide(view: View) -> Decision[AlterPartitionResponse]:
            return alter_partitions(view, request, self._rules)

        def reply(outcome: AlterPartitionResponse | ApiError) -> None:
            if isinstance(outcome, ApiError):
                outcome = AlterPartitionResponse(error_code=outcome.code)
            respond(outcome)

        self._controller.submit("alter partition", decide, reply)
