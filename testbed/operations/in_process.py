"""Requests to the broker in this process: its own APIs, with unlimited rights and without a
network.

Faults, quotas and the record of clients' requests (`testbed.sent_requests`) do not see these
requests. Owns nothing.
"""

from __future__ import annotations

import asyncio

from broker.requests.context import RequestContext
from broker.requests.request_handler import RequestHandler
from client.core.operation import Answer
from controller.authorization.rights import UNLIMITED, Rights, Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames.message_codec import Request
from testbed.decoded_responses import decoded_response
from testbed.operation_error import OperationError
from testbed.operations.port import NotServed

CLIENT_ID = "ottla-testing"
_ABOUT_ACLS = (ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS)


class _Anything:
    """A judge (`controller.authorization.rights.Judge`) that allows everything."""

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Return a verdict that allows the action, whatever it is."""
        return Verdict(True, "it is asked for a test")

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Return a verdict that allows the operation, whatever it is."""
        return Verdict(True, "it is asked for a test")


_ALL_RIGHTS = Rights(_Anything(), Asker("User:ottla-testing", "", "", "", None, -1, -1))
"""The rights for requests about ACLs: a sender with UNLIMITED rights gets the answer that there
is no authorizer."""


class InProcess:
    """Sends requests (`port.SendRequest`) to this broker; `node_id` is ignored, as there is one
    node."""

    def __init__(self, requests: RequestHandler, listener_name: str) -> None:
        """`listener_name`: the listener whose addresses are in responses as those of nodes."""
        self._requests = requests
        self._listener_name = listener_name

    async def __call__(self, node_id: int | None, message: Request, version: int) -> Answer:
        """Have the broker in this process handle a request, wait, and return the response as a
        client of this version decodes it.

        Raises NotServed if the broker lacks the API, OperationError if it rejects the request by a
        ProtocolError.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        api = self._requests.apis.get(message.API_KEY)
        if api is None:
            raise NotServed(type(message).__name__)
        name = api.key.name

        def respond(response: Answer | ProtocolError) -> None:
            """Complete `answer` with the first response. A ProtocolError becomes an
            OperationError."""
            if answer.done():
                return
            if isinstance(response, ProtocolError):
                answer.set_exception(OperationError("failed", f"{name}: {response}"))
            else:
                answer.set_result(decoded_response(response, version))

        rights = _ALL_RIGHTS if message.API_KEY in _ABOUT_ACLS else UNLIMITED
        context = RequestContext(
            message.API_KEY, version, 0, CLIENT_ID, "", self._listener_name, "", rights
        )
        api.handle(context, message, respond)
        return await answer
