"""Warnings about unknown keys: how many there are, and what decides about them."""

from __future__ import annotations

import pytest

from broker.config.support import unknown_key
from broker.config.unknown_keys import NAMED_MAX, ignores_unknown_keys, unknown_key_warnings
from ground.config_def import ConfigError


def test_the_default_is_to_fail() -> None:
    assert not ignores_unknown_keys({})
    assert not ignores_unknown_keys({"ottla.unknown.keys": "fail"})
    assert ignores_unknown_keys({"ottla.unknown.keys": "warn"})
    with pytest.raises(ConfigError, match="ottla.unknown.keys"):
        ignores_unknown_keys({"ottla.unknown.keys": ""})


@pytest.mark.parametrize("more", [0, 1, 7])
def test_the_lines_are_bounded(more: int) -> None:
    names = [f"unknown.{number}" for number in range(NAMED_MAX + more)]
    lines = list(unknown_key_warnings(names, unknown_key))
    assert [line.partition(" ")[0] for line in lines[:NAMED_MAX]] == names[:NAMED_MAX]
    assert [line.partition(" ")[0] for line in lines[NAMED_MAX:]] == ([str(more)] if more else [])


def test_no_unknown_keys_are_no_lines() -> None:
    assert list(unknown_key_warnings([], unknown_key)) == []
