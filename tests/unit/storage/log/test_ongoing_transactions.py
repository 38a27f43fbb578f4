"""What keeps a log from being stable, against a model that remembers everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.log.ongoing_transactions import OngoingTransactions


def test_a_transaction_is_unstable_until_its_marker_is_committed() -> None:
    ongoing = OngoingTransactions()
    ongoing.begin(3, 1)
    ongoing.begin(5, 2)
    assert ongoing.first_unstable(9) == 3
    assert ongoing.end(3, 9) == 5
    assert ongoing.first_unstable(9) == 3
    assert ongoing.first_unstable(10) == 5
    assert ongoing.end(5, 10) == 11
    assert ongoing.first_unstable(11) is None
    assert not ongoing.open and not ongoing.unreplicated


def test_restored_transactions_are_in_order() -> None:
    ongoing = OngoingTransactions()
    ongoing.restore(9, 1)
    ongoing.restore(4, 2)
    assert ongoing.first_unstable(20) == 4
    ongoing.clear()
    assert ongoing.first_unstable(20) is None


@given(st.lists(st.tuples(st.sampled_from("bec"), st.integers(0, 9)), max_size=60))
def test_the_first_unstable_offset_is_that_of_a_model(steps: list[tuple[str, int]]) -> None:
    """b begins, e ends one of those that are open, c commits some of what there is."""
    ongoing = OngoingTransactions()
    ended: dict[int, int] = {}
    running: list[int] = []
    end = committed = 0
    for what, number in steps:
        if what == "b":
            running.append(end)
            ongoing.begin(end, end)
            end += 1
        elif what == "e" and running:
            first = running.pop(number % len(running))
            assert ongoing.end(first, end) == min(running, default=end + 1)
            ended[first] = end
            end += 1
        elif what == "c":
            committed = min(end, committed + number)
        late = [first for first, marker in ended.items() if marker >= committed]
        assert ongoing.first_unstable(committed) == min([*running, *late], default=None)
        assert len(ongoing.unreplicated) <= len(late)
