"""When a group counts as Stable, and the bytes a member sends."""

from __future__ import annotations

from bench.groups import ClassicProtocolGroup, ClassicProtocolMember, assignment


def group(*members: tuple[bool, int, int]) -> ClassicProtocolGroup:
    """Members as (is_stable, generation, size as it knows it), without connections."""
    made = ClassicProtocolGroup.__new__(ClassicProtocolGroup)
    made.members = []
    for is_stable, generation, size in members:
        member = ClassicProtocolMember.__new__(ClassicProtocolMember)
        member.is_stable, member.generation, member.size = is_stable, generation, size
        made.members.append(member)
    return made


def test_all_have_to_be_in_one_generation_of_all() -> None:
    assert group((True, 3, 2), (True, 3, 0)).is_stable()
    assert not group((True, 3, 2), (False, 3, 0)).is_stable()
    assert not group((True, 3, 2), (True, 2, 0)).is_stable()
    assert not group((True, 3, 1), (True, 3, 0)).is_stable()


def test_a_share_names_one_partition() -> None:
    share = assignment(7)
    assert share[:6] == b"\0\1" + (1).to_bytes(4, "big")
    assert share.endswith((1).to_bytes(4, "big") + (7).to_bytes(4, "big") + b"\xff" * 4)


def test_a_share_of_several_begins_behind_those_before() -> None:
    share = assignment(3, 2)
    numbers = b"".join(number.to_bytes(4, "big") for number in (2, 6, 7))
    assert share.endswith(numbers + b"\xff" * 4)
