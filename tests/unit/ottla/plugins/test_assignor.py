"""What an assignor need not say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.plugins.assignor import ConsumerGroupAssignor, Member, Topic


class Least(ConsumerGroupAssignor):
    name = "least"

    def assign(
        self, members: Mapping[str, Member], topics: Mapping[str, Topic]
    ) -> Mapping[str, Mapping[str, tuple[int, ...]]]:
        return {}


def test_it_need_not_say_more_than_its_name_and_who_gets_what() -> None:
    one = Least()
    one.configure({})
    assert one.name == "least"
    assert one.assign({}, {}) == {}
    with pytest.raises(TypeError):
        ConsumerGroupAssignor()  # type: ignore[abstract]
