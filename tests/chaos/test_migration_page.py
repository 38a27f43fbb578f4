"""The commands of docs/migration.md, as `python -m tests.chaos.migration` follows them."""

from __future__ import annotations

import pytest

from tests.chaos.migration.commands import (
    ADDRESS,
    BACK,
    BEFORE,
    CLIENT,
    COMPARE,
    CONFIG,
    FORTH,
    HEALTHY,
    STOP_OTTLA,
    commands,
)


def test_each_command_is_one_that_the_test_follows() -> None:
    lower, check, *lists = commands(BEFORE)
    assert lower.startswith("kafka-features ") and ADDRESS in lower and CLIENT in lower
    assert check == f"ottla migrate check -b {ADDRESS} --command-config {CLIENT}"
    stop, start, healthy, *compared = commands(FORTH)
    assert (stop, start) == ("kafka-server-stop", f"ottla serve --config {CONFIG}")
    assert healthy.startswith(HEALTHY)
    assert commands(BACK) == [STOP_OTTLA, f"kafka-server-start -daemon {CONFIG}"]
    # What is kept before is what is compared afterwards.
    kept = [command.rpartition(" | sort > ") for command in lists]
    assert compared == [f"{said} | sort | {COMPARE}{file} -" for said, _, file in kept]


def test_a_section_without_commands() -> None:
    with pytest.raises(KeyError):
        commands("Traps")
