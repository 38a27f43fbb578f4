"""DescribeAcls: v1-3.

    v2   flexible versions
    v3   the resource type USER (KIP-373)

Behaviour: ACLs by what they speak about, those that a filter means. Every broker answers from its
own image; what an answer tells of them stands in `controller.requests.acl_requests`. CreateAcls and
DeleteAcls are only passed on (`broker.apis.forwarded`), so what was just created can be missing
here for a moment.

Needs Describe on the cluster; SECURITY_DISABLED where nothing is authorized.
"""

from __future__ import annotations

from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from controller.requests.acl_requests import described_acls
from protocol.api_keys import ApiKey
from protocol.messages.describe_acls import DescribeAclsRequest


class DescribeAclsApi:
    """Who may do what."""

    def __init__(self, metadata: ImageSource) -> None:
        self._metadata = metadata

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_ACLS, 1, 3, self.handle)]

    def handle(
        self, context: RequestContext, request: DescribeAclsRequest, respond: Respond
    ) -> None:
        respond(described_acls(self._metadata.image.acls, context.rights, request))
