"""What each filter means: `tests/unit/controller/requests/test_acl_requests_kafka.py`."""

from __future__ import annotations

from broker.apis.describe_acls import DescribeAclsApi
from controller.metadata.acl import Acl
from controller.metadata.acl_filter import ANY
from controller.metadata.snapshot import acl_record
from ottla.plugins.authorizer import Operation
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.message import as_dict
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of

EVERYTHING = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)


def test_a_broker_answers_from_its_image() -> None:
    cluster = Cluster()
    (api,) = DescribeAclsApi(cluster, Turns().answers).apis()
    assert (api.oldest, api.latest) == STABLE_VERSIONS[ApiKey.DESCRIBE_ACLS]
    cluster.replay(acl_record(b"1" * 16, Acl(2, "t", 4, "User:a", "*", 3, 3)))
    answer = ask(api.handle, EVERYTHING, 3, rights=rights_of(on_cluster(Operation.DESCRIBE)))
    acl = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    about = {"resource_type": 2, "resource_name": "t", "pattern_type": 4, "acls": [acl]}
    assert as_dict(answer) == {
        "throttle_time_ms": 0,
        "error_code": 0,
        "error_message": "",
        "resources": [about],
    }


def test_one_who_may_not_is_told_nothing() -> None:
    cluster = Cluster()
    cluster.replay(acl_record(b"1" * 16, Acl(2, "t", 4, "User:a", "*", 3, 3)))
    answer = ask(
        DescribeAclsApi(cluster, Turns().answers).handle, EVERYTHING, 3, rights=rights_of(())
    )
    assert (answer.error_code, answer.resources) == (31, [])
