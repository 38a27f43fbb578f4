"""What explains values is one argument of two commands, and can be said again as words."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from command.admin.decode_options import DecodeOptions, with_decode_options

ALL = DecodeOptions(
    ("a.avsc", "orders=b.avsc"),
    "shop.desc",
    ("orders=shop.Order",),
    "http://me:word@host:8081",
    "registry.properties",
)


@pytest.mark.parametrize(
    "given", [ALL, DecodeOptions(), DecodeOptions(messages=("--odd",)), DecodeOptions(registry="")]
)
def test_words_are_understood_as_what_they_were(given: DecodeOptions) -> None:
    found: list[tuple[DecodeOptions, int]] = []

    @click.command()
    @click.option("--before", type=int, default=1)
    @with_decode_options
    @click.option("--after", type=int, default=2)
    def command(before: int, decode: DecodeOptions, after: int) -> None:
        """Of a test."""
        found.append((decode, before + after))

    assert CliRunner().invoke(command, [*given.words(), "--after", "4"]).exit_code == 0
    assert found == [(given, 5)]
    told = CliRunner().invoke(command, ["--help"]).output
    places = [told.index(f"--{name}") for name in ("before", "avro-schema", "registry", "after")]
    assert places == sorted(places)
