"""Questions about users of SCRAM, and what answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from client.access.users import Credential, credentials, delete, set_password
from client.refusals import Refused
from controller.metadata.scram_credential import ScramMechanism, salted_password
from protocol.errors import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tests.unit.command.admin.one_answer import DENIED, Cluster

SHA_512 = ScramMechanism.SCRAM_SHA_512


def described(*results: Any, error_code: int = 0) -> Cluster:
    return Cluster(DescribeUserScramCredentialsResponse(0, error_code, None, list(results)))


def altered(code: int = 0, message: str | None = None) -> Cluster:
    result = AlterUserScramCredentialsResult("alice", code, message)
    return Cluster(AlterUserScramCredentialsResponse(0, [result]))


def test_all_users_are_asked_for_where_none_is_named() -> None:
    infos = [CredentialInfo(2, 8192), CredentialInfo(1, 4096), CredentialInfo(9, 1)]
    cluster = described(DescribeUserScramCredentialsResult("alice", 0, None, infos))
    assert credentials(cluster) == [
        Credential("alice", "SCRAM-SHA-256", 4096),
        Credential("alice", "SCRAM-SHA-512", 8192),
        Credential("alice", "mechanism 9", 1),
    ]
    assert cluster.asked[0].users is None
    credentials(cluster, ["alice", "alice"])
    assert [one.name for one in cluster.asked[1].users] == ["alice"]


def test_a_user_who_is_not_there() -> None:
    code = int(ErrorCode.RESOURCE_NOT_FOUND)
    with pytest.raises(Refused, match="no such user: bob"):
        credentials(described(DescribeUserScramCredentialsResult("bob", code, "x", [])), ["bob"])
    with pytest.raises(Refused, match="Describe on the cluster"):
        credentials(described(error_code=DENIED))


def test_a_password_is_sent_salted() -> None:
    cluster = altered()
    set_password(cluster, "alice", SHA_512, 5000, "secret", lambda size: b"s" * size)
    (sent,) = cluster.asked[0].upsertions
    assert (sent.name, sent.mechanism, sent.iterations, sent.salt) == ("alice", 2, 5000, b"s" * 16)
    assert sent.salted_password == salted_password(SHA_512, "secret", b"s" * 16, 5000)


def test_a_login_is_taken_away() -> None:
    cluster = altered()
    delete(cluster, "alice", SHA_512)
    (sent,) = cluster.asked[0].deletions
    assert (sent.name, sent.mechanism) == ("alice", 2)
    with pytest.raises(Refused, match="user alice: this takes Alter on the cluster"):
        delete(altered(DENIED, "no"), "alice", SHA_512)
