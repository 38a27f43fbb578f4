"""What an authorizer of one's own has to say, and what it need not."""

from __future__ import annotations

import pytest

from ottla.plugins.authorizer import Action, Asker, Authorizer, Operation, Resource


def test_one_that_says_nothing_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="allows"):
        Authorizer()  # type: ignore[abstract]


def test_one_that_says_yes_to_each_does_not_say_that_there_is_some() -> None:
    class Yes(Authorizer):
        def allows(self, asker: Asker, action: Action) -> bool:
            return True

    asker = Asker("User:a", "h", "L", "PLAINTEXT", None, 0, 0)
    yes = Yes()
    yes.configure({}, lambda: None, yes)
    assert yes.allows(asker, Action(Operation.READ, Resource.TOPIC, "t"))
    assert not yes.allows_any(asker, Operation.WRITE, Resource.TOPIC)
    assert not yes.remembered
