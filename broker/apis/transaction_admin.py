"""ListTransactions v0-2, DescribeTransactions v0: transactions for administrators (KIP-664).

Behaviour: ListTransactions returns the transactional ids that this broker coordinates (clients ask
every broker); DescribeTransactions is sent to an id's own coordinator.

Rights: both need DESCRIBE on each transactional id. A denied one is
TRANSACTIONAL_ID_AUTHORIZATION_FAILED in DescribeTransactions and left out in ListTransactions.
Topics of a transaction that the client may not DESCRIBE are left out.

Versions: ListTransactions v1 filters by duration (KIP-994), v2 by a regular expression that must
match the whole id (KIP-1152).
"""

from __future__ import annotations

from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from broker.transactions.transaction_coordinator import TransactionCoordinator
from controller.authorization.rights import Rights
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.message import replace
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from protocol.messages.list_transactions import TransactionState as ListedTransaction

DESCRIBED = 8
"""The pieces of work (`Pace`) that one described transaction counts as."""


class TransactionAdminApi:
    """The handlers of the two APIs."""

    def __init__(self, coordinator: TransactionCoordinator, answers: SlicedAnswers) -> None:
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, self.describe, refuse_describe),
            Api(ApiKey.LIST_TRANSACTIONS, 0, 2, self.list_transactions, refuse_list),
        ]

    def list_transactions(
        self, context: RequestContext, request: ListTransactionsRequest, respond: Respond
    ) -> None:
        """Respond with the transactions of this coordinator that match the filters and that the
        client may DESCRIBE."""
        steps = self._visible_transactions(context, request)
        self._answers.give(context, request, steps, respond, refuse_list)

    def _visible_transactions(
        self, context: RequestContext, request: ListTransactionsRequest
    ) -> Steps[ListTransactionsResponse]:
        """Return the transactions that match the filters and that the client may DESCRIBE."""
        response = yield from self._coordinator.list_transactions(request)
        names = [state.transactional_id for state in response.transaction_states]
        allowed = yield from allowed_in_slices(
            context.rights, Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, names
        )
        pace, states = Pace(), Items[ListedTransaction](context.api_version)
        for state in response.transaction_states:
            if pace.is_full():
                yield None
            if state.transactional_id in allowed:
                states.add(state)
        return replace(response, transaction_states=states.array())

    def describe(
        self, context: RequestContext, request: DescribeTransactionsRequest, respond: Respond
    ) -> None:
        """Respond with each transaction, or with its error: TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        without DESCRIBE on the id."""
        steps = self._all_described(context, request)
        self._answers.give(context, request, steps, respond, refuse_describe)

    def _all_described(
        self, context: RequestContext, request: DescribeTransactionsRequest
    ) -> Steps[DescribeTransactionsResponse]:
        """Return the response. Each transaction is described as it is when it is read."""
        rights, names = context.rights, request.transactional_ids
        allowed = yield from allowed_in_slices(
            rights, Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, names
        )
        pace, states = Pace(), Items[TransactionState](context.api_version)
        for name in names:
            if pace.is_full(DESCRIBED):
                yield None
            state = (
                self._described_transaction(rights, name)
                if name in allowed
                else _denied_transaction(name)
            )
            states.add(state, 1 + len(state.topics))
            if pace.is_full(len(state.topics)):
                yield None
        return DescribeTransactionsResponse(transaction_states=states.array())

    def _described_transaction(self, rights: Rights, transactional_id: str) -> TransactionState:
        """Return the transaction, or its error, without the topics that the client may not
        DESCRIBE."""
        state = self._coordinator.describe(transactional_id)
        topics = [topic.topic for topic in state.topics]
        shown = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics)
        state.topics = [topic for topic in state.topics if topic.topic in shown]
        return state


def _denied_transaction(transactional_id: str) -> TransactionState:
    error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return TransactionState(int(error), transactional_id)


def refuse_list(_request: ListTransactionsRequest, code: ErrorCode) -> ListTransactionsResponse:
    """Return a response with `code` and no transactions."""
    return ListTransactionsResponse(error_code=int(code))


def refuse_describe(
    request: DescribeTransactionsRequest, code: ErrorCode
) -> DescribeTransactionsResponse:
    """Return a response with `code` for every id."""
    return DescribeTransactionsResponse(
        transaction_states=[TransactionState(int(code), name) for name in request.transactional_ids]
    )
