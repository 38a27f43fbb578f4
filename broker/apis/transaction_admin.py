"""ListTransactions v0-2, DescribeTransactions v0: transactions for administrators (KIP-664).

Behaviour: ListTransactions answers the transactional ids that this broker coordinates (clients ask
every broker); DescribeTransactions goes to an id's own coordinator.

Versions: ListTransactions v1 open for longer than a time (KIP-994), v2 a pattern for the id
(KIP-1152), which is a regular expression that the whole id must match.
"""

from __future__ import annotations

from broker.requests.context import Api, RequestContext, Respond
from broker.transactions.transaction_coordinator import TransactionCoordinator
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.list_transactions import ListTransactionsRequest


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
        respond(self._coordinator.list_transactions(request))

    def describe(
        self, context: RequestContext, request: DescribeTransactionsRequest, respond: Respond
    ) -> None:
        """DescribeTransactions: each id by itself."""
        states = [self._coordinator.describe(name) for name in request.transactional_ids]
        respond(DescribeTransactionsResponse(transaction_states=states))


def refuse_describe(
    request: DescribeTransactionsRequest, code: ErrorCode
) -> DescribeTransactionsResponse:
    """`code` for every id."""
    return DescribeTransactionsResponse(
        transaction_states=[TransactionState(int(code), name) for name in request.transactional_ids]
    )
