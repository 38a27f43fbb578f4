"""Arithmetic of what members hold, with letters for containers."""

from __future__ import annotations

from broker.groups.reconciliation.held import (
    is_within,
    names,
    only,
    overlap,
    same_names,
    split,
    with_additions,
    without,
)

HELD = {"a": {0: 2, 1: 3}, "b": {5: 2}}


def test_what_is_held_is_split_by_a_target() -> None:
    kept, lost = split(HELD, {"a": (1, 2)})
    assert kept == {"a": {1: 3}}
    assert lost == {"a": {0: 2}, "b": {5: 2}}
    assert split(HELD, names(HELD)) == (HELD, {})


def test_what_is_missing_is_what_nobody_gave_yet() -> None:
    assert without({"a": (0, 1, 2), "b": (5,), "c": (0,)}, HELD) == {"a": (2,), "c": (0,)}


def test_what_is_given_has_its_epoch_and_its_place() -> None:
    both = with_additions({"a": {1: 3}}, {"a": (0,), "c": (4,)}, 7)
    assert both == {"a": {0: 7, 1: 3}, "c": {4: 7}}
    assert list(both["a"]) == [0, 1]


def test_overlap_and_containment() -> None:
    assert overlap({"a": (1, 9)}, HELD)
    assert not overlap({"a": (9,), "z": (0,)}, HELD)
    assert not overlap({}, HELD)
    assert is_within({"a": (0,)}, HELD)
    assert not is_within({"a": (0, 2)}, HELD)
    assert not is_within({"z": (0,)}, HELD)
    assert is_within({}, HELD)


def test_only_what_is_wanted_stays() -> None:
    target = {"a": (0,), "b": (1,)}
    assert only(target, lambda container: container == "a") == {"a": (0,)}
    assert only(target, lambda container: True) is target


def test_names_are_compared_without_epochs() -> None:
    assert same_names(HELD, {"a": {0: 9, 1: 9}, "b": {5: 9}})
    assert not same_names(HELD, {"a": {0: 2, 1: 3}})
    assert not same_names(HELD, {"a": {0: 2, 1: 3}, "b": {6: 2}})
    assert same_names(HELD, HELD)
