"""Tokens live through a restart, a snapshot and a failover, and go when they have expired. What is
answered: `test_delegation_tokens` of the broker's APIs."""

from __future__ import annotations

from functools import partial
from typing import Any

from controller.metadata.delegation_token import TokenKey
from protocol.errors import ErrorCode
from protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.unit.controller.controller_fixture import Context, OneNode
from tests.unit.controller.quorum_model import Quorum

KEY = TokenKey("a key")
HOUR_MS = 3_600_000
CREATE = CreateDelegationTokenRequest(None, None, [CreatableRenewers("User", "bob")], -1)


def alice(version: int = 3) -> Context:
    return Context(version, principal="User:alice", security_protocol="SASL_SSL")


def node_of(**more: Any) -> OneNode:
    return OneNode(token_key=KEY, **more).start()


def ask(node: OneNode, request: Any, version: int = 3) -> Any:
    answers: list[Any] = []
    node.node.apis.handle(alice(version), request, answers.append)
    node.scheduler.run_until(lambda: bool(answers))
    node.settle()
    (answer,) = answers
    return answer


def seen(node: OneNode) -> list[tuple[str, bytes, int]]:
    answer = ask(node, DescribeDelegationTokenRequest(None))
    assert answer.error_code == 0
    return [(one.token_id, one.hmac, one.expiry_timestamp) for one in answer.tokens]


def test_tokens_are_there_after_a_restart() -> None:
    first = node_of()
    made = ask(first, CREATE)
    gone = ask(first, CREATE)
    assert ask(first, ExpireDelegationTokenRequest(gone.hmac, -1), 2).error_code == 0
    renewed = ask(first, RenewDelegationTokenRequest(made.hmac, HOUR_MS), 2)
    first.stop()
    second = node_of(filesystem=first.filesystem)
    assert seen(second) == [(made.token_id, made.hmac, renewed.expiry_timestamp_ms)]


def test_tokens_come_out_of_a_snapshot() -> None:
    """The log before it is gone, so that there is no other place for them."""
    first = node_of(metadata_log_max_record_bytes_between_snapshots=1)
    made = ask(first, CREATE)
    ask(first, ExpireDelegationTokenRequest(ask(first, CREATE).hmac, -1), 2)
    kept = first.node.image.tokens
    first.stop()
    folder = "/data/__cluster_metadata-0"
    names = first.filesystem.list_dir(folder)
    assert any(name.endswith(".checkpoint") and not name.startswith("0" * 20) for name in names)
    second = node_of(filesystem=first.filesystem)
    assert second.node.image.tokens == kept
    assert [one[:2] for one in seen(second)] == [(made.token_id, made.hmac)]


def test_no_secret_is_on_the_disk() -> None:
    first = node_of(metadata_log_max_record_bytes_between_snapshots=1)
    made = ask(first, CREATE)
    first.stop()
    texts = [data for _, data in first.filesystem.files()]
    assert any(made.token_id.encode() in text for text in texts)
    assert not any(made.hmac in text or b"a key" in text for text in texts)


def test_expired_ones_go_by_the_clock() -> None:
    node = node_of(delegation_token_expiry_check_interval_ms=HOUR_MS)
    short = CreateDelegationTokenRequest(None, None, [], 10)
    for _ in range(3):
        ask(node, short)
    stays = ask(node, CREATE)
    node.scheduler.run_for(HOUR_MS / 2)
    assert len(seen(node)) == 4
    node.scheduler.run_for(HOUR_MS)
    assert [one[0] for one in seen(node)] == [stays.token_id]


def test_a_node_without_a_key_removes_nothing() -> None:
    """It cannot know whether others serve them."""
    first = node_of()
    ask(first, CreateDelegationTokenRequest(None, None, [], 10))
    first.stop()
    second = OneNode(first.filesystem, delegation_token_expiry_check_interval_ms=HOUR_MS).start()
    second.scheduler.run_for(3 * HOUR_MS)
    assert len(second.node.image.tokens) == 1
    told = ask(second, DescribeDelegationTokenRequest(None)).error_code
    assert told == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_tokens_live_through_failovers() -> None:
    """What was answered is there whoever leads; each leader makes the same secrets."""
    for seed in range(20):
        quorum = Quorum(seed, token_key=KEY)
        quorum.fail_over()
        quorum.commit()
        made: list[Any] = []
        expiry: dict[str, int] = {}
        for _ in range(12):
            before = len(made)
            quorum.ask(CREATE, 3, made.append, alice())
            if made:
                last = made[quorum.random.randrange(len(made))]
                renew = RenewDelegationTokenRequest(last.hmac, HOUR_MS)
                token = last.token_id
                quorum.ask(renew, 2, partial(_note, expiry, token), alice(2))
            if quorum.random.random() < 0.5:
                quorum.commit(quorum.random.randint(1, 3))
            else:
                quorum.fail_over()
            made[before:] = [one for one in made[before:] if one.error_code == 0]
            quorum.scheduler.run_for(5)
        quorum.fail_over()
        quorum.commit()
        made = [one for one in made if one.error_code == 0]
        assert made
        answers: list[Any] = []
        quorum.ask(DescribeDelegationTokenRequest(None), 3, answers.append, alice())
        found = {one.token_id: one for one in answers[0].tokens}
        for one in made:
            assert found[one.token_id].hmac == one.hmac, seed
        for token, at_least_ms in expiry.items():
            assert found[token].expiry_timestamp >= at_least_ms, seed


def _note(expiry: dict[str, int], token: str, answer: Any) -> None:
    if answer.error_code == 0:
        expiry[token] = max(expiry.get(token, 0), answer.expiry_timestamp_ms)
