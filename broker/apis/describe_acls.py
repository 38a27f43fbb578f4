"""DescribeAcls: v1-3.

    v2   flexible versions
    v3   the resource type USER (KIP-373)

Behaviour: returns the ACLs that match a filter, grouped by resource. Every broker answers from its
own image. The content of the response is made in `controller.requests.acl_requests`. CreateAcls and
DeleteAcls are only forwarded (`broker.apis.forwarded`), so an ACL that was just created can be
missing here for a moment.

Rights: Describe on the cluster. Without an authorizer the error is SECURITY_DISABLED.
"""

from __future__ import annotations

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.acl_requests import described_acls
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


class DescribeAclsApi:
    """The handler of DescribeAcls."""

    def __init__(self, metadata: ImageSource, answers: SlicedAnswers) -> None:
        self._metadata = metadata
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_ACLS, 1, 3, self.handle, refuse_describe_acls)]

    def handle(
        self, context: RequestContext, request: DescribeAclsRequest, respond: Respond
    ) -> None:
        """Respond with the ACLs of the metadata image that match the filter, or with an error: the
        client lacks DESCRIBE on the cluster, or the filter is invalid."""
        acls, version = self._metadata.image.acls, context.api_version
        steps = described_acls(acls, context.rights, request, version)
        self._answers.give(context, request, steps, respond, refuse_describe_acls)


def refuse_describe_acls(_request: DescribeAclsRequest, error: ErrorCode) -> DescribeAclsResponse:
    """Return a response with `error` and no ACLs."""
    return DescribeAclsResponse(error_code=int(error))
