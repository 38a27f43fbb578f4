"""The errors of the Describe APIs of groups with epochs; `test_consumer_groups` and
`test_share_groups` have their answers."""

from __future__ import annotations

from typing import Any

import pytest

from broker.apis import consumer_groups, share_groups
from broker.apis.described_groups import DescribedGroups, DescribedType
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from tests.unit.broker.sliced_fixture import Turns


@pytest.mark.parametrize(
    ("type_", "request_of"),
    [
        (consumer_groups.DESCRIBED_TYPE, ConsumerGroupDescribeRequest),
        (share_groups.DESCRIBED_TYPE, ShareGroupDescribeRequest),
    ],
)
def test_every_group_is_refused_alike(type_: DescribedType, request_of: Any) -> None:
    api = DescribedGroups(type_, lambda _, take: take(None), Turns().answers)
    groups = api.refuse(request_of(["a", "b"]), ErrorCode.NOT_COORDINATOR).groups
    assert [(group.group_id, group.error_code) for group in groups] == [
        ("a", ErrorCode.NOT_COORDINATOR),
        ("b", ErrorCode.NOT_COORDINATOR),
    ]
