"""InitProducerId: v0-5 (KIP-98, KIP-360, KIP-890).

Behaviour: a producer without a transactional id gets an unused producer id with epoch 0, whatever
id it had before. A producer with a transactional id gets that id's producer id and a new epoch,
which fences the producer with the previous epoch. An open transaction is aborted first; meanwhile
the answer is CONCURRENT_TRANSACTIONS.

Rights: WRITE on the transactional id (TRANSACTIONAL_ID_AUTHORIZATION_FAILED). Without a
transactional id, IDEMPOTENT_WRITE on the cluster or WRITE on any topic
(CLUSTER_AUTHORIZATION_FAILED).

Versions: v1 throttles after answering, v2 flexible, v3 the client's current id and epoch, v4
PRODUCER_FENCED, v5 TRANSACTION_ABORTABLE. v6 (two-phase commit, KIP-939) is not stable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.apis.producer_id_manager import ProducerIdManager
from broker.requests.context import Api, RequestContext, Respond
from controller.authorization.rights import Rights
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    # Not loaded by a broker without transactions.
    from broker.transactions.transaction_coordinator import TransactionCoordinator

NO_ID = -1
NO_EPOCH = -1
FENCED_FROM = 4

Identity = tuple[int, int]


class InitProducerIdApi:
    """The handler of InitProducerId.

    `transactions()` is called for the first transactional id, and loads the coordinator.
    """

    def __init__(
        self, producer_ids: ProducerIdManager, transactions: Callable[[], TransactionCoordinator]
    ) -> None:
        """Serve the API. `transactions()` returns the transaction coordinator, whose code it loads
        with the first transactional id."""
        self._producer_ids = producer_ids
        self._transactions = transactions

    def apis(self) -> list[Api]:
        return [Api(ApiKey.INIT_PRODUCER_ID, 0, 5, self.handle)]

    def handle(
        self, context: RequestContext, request: InitProducerIdRequest, respond: Respond
    ) -> None:
        """Respond with a producer id and epoch: an unused id of this broker's block or, for a
        transactional id, the identity that its coordinator gives.

        Otherwise respond with an error: a right is missing, the request has an id without an epoch
        or the reverse, or its transactional id is empty.
        """
        denied = _denied(context.rights, request.transactional_id)
        if denied is not ErrorCode.NONE:
            respond(_refusal(denied))
            return
        has_id, has_epoch = request.producer_id != NO_ID, request.producer_epoch != NO_EPOCH
        if has_id != has_epoch or request.transactional_id == "":
            respond(_refusal(ErrorCode.INVALID_REQUEST))
        elif request.transactional_id is None:
            self._producer_ids.next_id(lambda producer_id: respond(_id_response(producer_id)))
        else:
            expected = (request.producer_id, request.producer_epoch) if has_id else None
            self._transactions().init_producer_id(
                request.transactional_id,
                request.transaction_timeout_ms,
                expected,
                lambda error, identity: respond(
                    InitProducerIdResponse(
                        0, int(_error_for_version(error, context.api_version)), *identity
                    )
                ),
            )


def _denied(rights: Rights, transactional_id: str | None) -> ErrorCode:
    """Return the error if the producer lacks a right; NONE if it may have an id."""
    if transactional_id is not None:
        if rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id):
            return ErrorCode.NONE
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if rights.allows_on_cluster(Operation.IDEMPOTENT_WRITE, audited=False):
        return ErrorCode.NONE
    if rights.allows_any(Operation.WRITE, Resource.TOPIC):
        return ErrorCode.NONE
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(0, int(error), NO_ID, NO_EPOCH)


def _id_response(producer_id: int | None) -> InitProducerIdResponse:
    """Return a new id with epoch 0; None gives COORDINATOR_LOAD_IN_PROGRESS, to be retried."""
    if producer_id is None:
        return _refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(0, 0, producer_id, 0)


def _error_for_version(error: ErrorCode, version: int) -> ErrorCode:
    """Return the error; INVALID_PRODUCER_EPOCH if the version does not have PRODUCER_FENCED."""
    if error is ErrorCode.PRODUCER_FENCED and version < FENCED_FROM:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
