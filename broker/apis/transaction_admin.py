"""ListTransactions v0-2, DescribeTransactions v0: transactions for administrators (KIP-664).

Behaviour: ListTransactions answers the transactional ids that this broker coordinates (clients ask
every broker); DescribeTransactions goes to an id's own coordinator.

Both need DESCRIBE of each transactional id. DescribeTransactions answers one that is denied with
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ListTransactions leaves it out. Topics of a transaction that
the client may not DESCRIBE are left out.

Versions: ListTransactions v1 open for longer than a time (KIP-994), v2 a pattern for the id
(KIP-1152), which is a regular expression that the whole id must match.
"""

from __future__ import annotations

from broker.requests.context import Api, RequestContext, Respond
from broker.transactions.transaction_coordinator import TransactionCoordinator
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.rights import Rights


class TransactionAdminApi:
    """Lists and describes transactions."""

    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> list[Api]:
        """The two APIs with their ranges."""
        return [
            Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, self.describe, refuse_describe),
            Api(ApiKey.LIST_TRANSACTIONS, 0, 2, self.list_transactions),
        ]

    def list_transactions(
        self, context: RequestContext, request: ListTransactionsRequest, respond: Respond
    ) -> None:
        """ListTransactions."""
        response = self._coordinator.list_transactions(request)
        states = response.transaction_states
        allowed = context.rights.allowed(
            Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, [one.transactional_id for one in states]
        )
        response.transaction_states = [one for one in states if one.transactional_id in allowed]
        respond(response)

    def describe(
        self, context: RequestContext, request: DescribeTransactionsRequest, respond: Respond
    ) -> None:
        """DescribeTransactions: each id by itself."""
        rights, names = context.rights, request.transactional_ids
        allowed = rights.allowed(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, names)
        states = [
            self._described(rights, name) if name in allowed else _denied(name) for name in names
        ]
        respond(DescribeTransactionsResponse(transaction_states=states))

    def _described(self, rights: Rights, transactional_id: str) -> TransactionState:
        state = self._coordinator.describe(transactional_id)
        topics = [topic.topic for topic in state.topics]
        shown = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics)
        state.topics = [topic for topic in state.topics if topic.topic in shown]
        return state


def _denied(transactional_id: str) -> TransactionState:
    error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return TransactionState(int(error), transactional_id)


def refuse_describe(
    request: DescribeTransactionsRequest, code: ErrorCode
) -> DescribeTransactionsResponse:
    """`code` for every id."""
    return DescribeTransactionsResponse(
        transaction_states=[TransactionState(int(code), name) for name in request.transactional_ids]
    )
