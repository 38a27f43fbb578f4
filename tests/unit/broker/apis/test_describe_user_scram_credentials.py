"""What each answer says: `tests/unit/controller/requests/test_controller_apis.py`."""

from __future__ import annotations

from broker.apis.describe_user_scram_credentials import DescribeUserScramCredentialsApi
from ottla.plugins.authorizer import Operation
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.message import as_dict
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from protocol.messages.metadata_records import UserScramCredentialRecord
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import ListJudge, on_cluster


def test_a_broker_answers_from_its_image() -> None:
    cluster = Cluster()
    (api,) = DescribeUserScramCredentialsApi(cluster, Turns().answers).apis()
    assert (api.oldest, api.latest) == STABLE_VERSIONS[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS]
    cluster.replay(UserScramCredentialRecord("u", 2, b"salt", b"stored", b"server", 5000))
    named = DescribeUserScramCredentialsRequest([UserName("u")])
    for request in (DescribeUserScramCredentialsRequest(None), named):
        assert as_dict(ask(api.handle, request, 0)) == {
            "throttle_time_ms": 0,
            "error_code": 0,
            "error_message": "",
            "results": [
                {
                    "user": "u",
                    "error_code": 0,
                    "error_message": "",
                    "credential_infos": [{"mechanism": 2, "iterations": 5000}],
                }
            ],
        }


def test_who_may_not_describe_the_cluster_is_told_of_nobody() -> None:
    cluster = Cluster()
    (api,) = DescribeUserScramCredentialsApi(cluster, Turns().answers).apis()
    cluster.replay(UserScramCredentialRecord("u", 2, b"salt", b"stored", b"server", 5000))
    judge = ListJudge()
    for users in (None, [UserName("u"), UserName("v")]):
        request = DescribeUserScramCredentialsRequest(users)
        judge.allowed = set()
        answer = as_dict(ask(api.handle, request, 0, rights=judge.rights()))
        nobody = {"user": "", "error_code": 31, "error_message": None, "credential_infos": []}
        assert answer == {
            "throttle_time_ms": 0,
            "error_code": 31,
            "error_message": None,
            "results": [nobody for _ in users or ()],
        }
        judge.allowed = on_cluster(Operation.DESCRIBE)
        assert ask(api.handle, request, 0, rights=judge.rights()).error_code == 0
