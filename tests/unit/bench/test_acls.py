"""The loads beside ACLs: what they are, and that a refused request is seen."""

from __future__ import annotations

import pytest

from bench.acls import OWN_ACLS, TOPICS, acls_of_others, checked
from bench.scenario import WindowResult
from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage
from ottla.plugins.authorizer import Action, Asker, Operation, Resource


def test_a_tenth_of_the_others_are_looked_at_and_none_decides() -> None:
    others = acls_of_others(1_000)
    assert len(set(others)) == 1_000
    image = AclsImage().changed(
        {bytes([at // 256, at % 256]): one for at, one in enumerate(others)}
    )
    assert len(list(image.about(Resource.TOPIC, TOPICS[0]))) == 100
    alice = Asker("User:alice", "127.0.0.1", "SCRAM", "SASL_PLAINTEXT", None, 3, 8)
    see = Action(Operation.DESCRIBE, Resource.TOPIC, TOPICS[0])

    def allowed(acls: list[Acl]) -> bool:
        found = AclsImage().changed({bytes([0, at]): one for at, one in enumerate(acls)})
        return StandardAuthorizer(lambda: found, ()).judge(alice, see).allowed

    assert allowed(OWN_ACLS) and not allowed(others[:250])


def test_what_was_refused_is_seen() -> None:
    offsets = iter([5, 8, 8, 10])

    def three(_: float) -> WindowResult:
        return WindowResult(3)

    load = checked(three, lambda: next(offsets), counts=True)
    assert load(1.0).units == 3
    with pytest.raises(RuntimeError, match="were refused"):
        load(1.0)
    assert checked(three, lambda: 0, counts=False)(1.0).units == 3
