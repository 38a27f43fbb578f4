"""An authorizer of one's own, as a handler's rights ask it."""

from __future__ import annotations

from typing import Any

import pytest

from broker.plugins.judge import PluginJudge, Standard
from broker.plugins.loop_calls import LoopCalls
from controller.authorization.rights import Rights, Verdict
from ottla.plugins.authorizer import Action, Asker, Authorizer, Operation, Resource

ALICE = Asker("User:alice", "1.2.3.4", "L", "PLAINTEXT", "c", 0, 9)


class Says(Authorizer):
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def allows(self, asker: Asker, action: Action) -> bool:
        self.asked.append((asker, action))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def judge(authorizer: Authorizer) -> PluginJudge:
    return PluginJudge(authorizer, LoopCalls("acme:Rights", lambda: 0.0))


@pytest.mark.parametrize("answer", [True, False])
def test_its_answer_is_the_verdict(answer: bool) -> None:
    says = Says(answer)
    rights = Rights(judge(says), ALICE)
    assert rights.allows(Operation.READ, Resource.TOPIC, "t") is answer
    assert says.asked == [(ALICE, Action(Operation.READ, Resource.TOPIC, "t"))]


@pytest.mark.parametrize("answer", [None, 1, "yes", ValueError("of mine"), AssertionError()])
def test_all_else_denies_and_is_told(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    verdict = judge(Says(answer)).judge(ALICE, Action(Operation.READ, Resource.TOPIC, "t"))
    assert not verdict.allowed
    assert caplog.messages and caplog.messages[0].startswith("acme:Rights ")


def test_any_resource_is_denied_unless_it_is_overridden() -> None:
    assert not judge(Says(True)).judge_any(ALICE, Operation.WRITE, Resource.TOPIC).allowed


def test_it_may_ask_for_an_address_in_any_spelling() -> None:
    asked: list[str] = []

    class Acls:
        def judge(self, asker: Asker, _action: Action) -> Verdict:
            asked.append(asker.host)
            return Verdict(True, "an ACL")

        def judge_any(self, asker: Asker, _operation: Operation, _resource: Resource) -> Verdict:
            asked.append(asker.host)
            return Verdict(True, "an ACL")

    standard = Standard(Acls())
    proxied = ALICE._replace(host="::1")
    standard.allows(proxied, Action(Operation.READ, Resource.TOPIC, "t"))
    standard.allows_any(proxied, Operation.READ, Resource.TOPIC)
    assert asked == ["0:0:0:0:0:0:0:1"] * 2


def test_it_may_ask_the_one_that_is_built_in() -> None:
    class Acls:
        def judge(self, asker: Asker, action: Action) -> Verdict:
            return Verdict(action.name == "known", "an ACL")

        def judge_any(self, _asker: Asker, operation: Operation, _resource: Resource) -> Verdict:
            return Verdict(operation is Operation.WRITE, "an ACL")

    standard = Standard(Acls())
    known, other = (Action(Operation.READ, Resource.TOPIC, name) for name in ("known", "other"))
    assert standard.allows(ALICE, known) and not standard.allows(ALICE, other)
    assert standard.allows_any(ALICE, Operation.WRITE, Resource.TOPIC)
    assert not standard.allows_any(ALICE, Operation.READ, Resource.TOPIC)
