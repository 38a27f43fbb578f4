"""InitProducerId: v0-5 (KIP-98, KIP-360).

Behaviour: a producer without a transactional id gets a fresh producer id with epoch 0, whatever id
it had before. A transactional id is refused with one fatal error until transactions are served.

Versions: v1 throttles after answering, v2 flexible, v3 the client's present id and epoch, v4 tells
PRODUCER_FENCED apart, v5 belongs to transactions of KIP-890. v6 (two-phase commit) is not stable
in 4.3.
"""

from __future__ import annotations

from broker.apis.context import Api, RequestContext, Respond
from broker.apis.produce import TRANSACTIONS_REFUSED
from broker.apis.producer_id_manager import ProducerIdManager
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_ID = -1
NO_EPOCH = -1


class InitProducerIdApi:
    """Names idempotent producers."""

    def __init__(self, producer_ids: ProducerIdManager) -> None:
        self._producer_ids = producer_ids

    def apis(self) -> list[Api]:
        return [Api(ApiKey.INIT_PRODUCER_ID, 0, 5, self.handle)]

    def handle(
        self, context: RequestContext, request: InitProducerIdRequest, respond: Respond
    ) -> None:
        error = _fault(request)
        if error is not None:
            respond(InitProducerIdResponse(0, int(error), NO_ID, NO_EPOCH))
            return

        def give(producer_id: int | None) -> None:
            if producer_id is None:
                error = int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                respond(InitProducerIdResponse(0, error, NO_ID, NO_EPOCH))
            else:
                respond(InitProducerIdResponse(0, 0, producer_id, 0))

        self._producer_ids.next_id(give)


def _fault(request: InitProducerIdRequest) -> ErrorCode | None:
    has_id, has_epoch = request.producer_id != NO_ID, request.producer_epoch != NO_EPOCH
    if has_id != has_epoch or request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is not None:
        return TRANSACTIONS_REFUSED
    return None
