"""`scram_requests`: in order, after a restart, from a snapshot. Words: `test_controller_apis`."""

from __future__ import annotations

from controller.metadata.scram_credential import ScramMechanism, credential_of
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.unit.controller.controller_fixture import OneNode

SALTED = b"p" * 32


def alter(node: OneNode, *upsertions: tuple[str, int, int]) -> list[tuple[str, int]]:
    request = AlterUserScramCredentialsRequest(
        [ScramCredentialDeletion("nobody", 1)],
        [ScramCredentialUpsertion(*one, b"salt", SALTED) for one in upsertions],
    )
    return [(one.user, one.error_code) for one in node.call(request, 0).results]


def described(node: OneNode, *names: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
    request = DescribeUserScramCredentialsRequest([UserName(name) for name in names])
    return [
        (one.user, one.error_code, [(c.mechanism, c.iterations) for c in one.credential_infos])
        for one in node.call(request, 0).results
    ]


def test_answers_are_in_the_order_of_the_request() -> None:
    node = OneNode().start()
    assert alter(node, ("b", 2, 4096), ("a", 1, 1), ("c", 2, 5000)) == [
        ("nobody", 91),
        ("b", 0),
        ("a", 93),
        ("c", 0),
    ]
    assert alter(node, ("b", 1, 4097)) == [("nobody", 91), ("b", 0)]
    both = [(1, 4097), (2, 4096)]
    assert described(node, "c", "a", "b") == [
        ("c", 0, [(2, 5000)]),
        ("a", 91, []),
        ("b", 0, both),
    ]
    assert described(node) == [("b", 0, both), ("c", 0, [(2, 5000)])]


def test_users_are_there_after_a_restart() -> None:
    first = OneNode().start()
    alter(first, ("u", 1, 4096))
    first.stop()
    second = OneNode(first.filesystem).start()
    mechanism = ScramMechanism.SCRAM_SHA_256
    kept = credential_of(mechanism, SALTED, b"salt", 4096)
    assert second.node.image.scram.credential(mechanism, "u") == kept


def test_users_come_out_of_a_snapshot() -> None:
    """The log before it is gone, so that there is no other place for them."""
    first = OneNode(metadata_log_max_record_bytes_between_snapshots=1).start()
    alter(first, ("u", 1, 4096), ("gone", 1, 4096))
    first.call(AlterUserScramCredentialsRequest([ScramCredentialDeletion("gone", 1)]), 0)
    first.settle()
    first.stop()
    folder = "/data/__cluster_metadata-0"
    names = first.filesystem.list_dir(folder)
    assert any(name.endswith(".checkpoint") and not name.startswith("0" * 20) for name in names)
    second = OneNode(first.filesystem).start()
    assert described(second) == [("u", 0, [(1, 4096)])]
