"""Errors cross the channel as their kind."""

from __future__ import annotations

import pytest

from ottla.testing.errors import (
    BrokerGone,
    DeadlinePassed,
    Misuse,
    NotPossible,
    OttlaError,
    StartFailed,
    StopFailed,
    error_of,
)


@pytest.mark.parametrize(
    "kind", [OttlaError, StartFailed, StopFailed, BrokerGone, DeadlinePassed, Misuse, NotPossible]
)
def test_each_kind_has_its_class(kind: type[OttlaError]) -> None:
    found = error_of(kind.kind, "why")
    assert type(found) is kind and str(found) == "why"


def test_an_unknown_kind_is_an_error_all_the_same() -> None:
    assert type(error_of("of tomorrow", "why")) is OttlaError
