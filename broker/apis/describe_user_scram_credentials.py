"""DescribeUserScramCredentials: v0 (KIP-554).

Behaviour: returns users with the mechanisms and iterations of their credentials, or all users if
the request names none. Every broker answers from its own image. The content of the response is made
in `controller.requests.scram_requests`. AlterUserScramCredentials is only forwarded
(`broker.apis.forwarded`).

Rights: Describe on the cluster.
"""

from __future__ import annotations

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.scram_requests import (
    described_to,
    refuse_describe_user_scram_credentials,
)
from protocol.api_keys import ApiKey
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest


class DescribeUserScramCredentialsApi:
    """The handler of DescribeUserScramCredentials."""

    def __init__(self, metadata: ImageSource, answers: SlicedAnswers) -> None:
        self._metadata = metadata
        self._answers = answers

    def apis(self) -> list[Api]:
        refuse = refuse_describe_user_scram_credentials
        return [Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, self.handle, refuse)]

    def handle(
        self,
        context: RequestContext,
        request: DescribeUserScramCredentialsRequest,
        respond: Respond,
    ) -> None:
        """Respond with the mechanisms and iterations of the requested users, from the metadata
        image. A client without DESCRIBE on the cluster gets an error."""
        steps = described_to(context, self._metadata.image.scram, request)
        refuse = refuse_describe_user_scram_credentials
        self._answers.give(context, request, steps, respond, refuse)
