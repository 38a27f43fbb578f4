"""The place of the documentation at the end of the help of `ottla` and of its groups."""

from __future__ import annotations

import importlib.metadata
from email.message import Message
from pathlib import Path

import pytest

from command.cli import run_cli
from command.help_pages.documentation import documentation

_ROOT = Path(__file__).resolve().parents[4]


def set_urls(monkeypatch: pytest.MonkeyPatch, *labelled: str) -> None:
    metadata = Message()
    for text in labelled:
        metadata["Project-URL"] = text
    monkeypatch.setattr(importlib.metadata, "metadata", lambda _name: metadata)


def test_the_address_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    set_urls(monkeypatch, "Source, https://example.org/s", "Documentation, https://example.org/d")
    assert documentation() == "https://example.org/d"


@pytest.mark.parametrize("labelled", [(), ("Documentation, ",), ("Source, https://example.org",)])
def test_without_an_address_it_is_a_page_of_the_sources(
    labelled: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_urls(monkeypatch, *labelled)
    assert documentation() == "docs/command-line.md in the sources of Ottla"
    assert (_ROOT / documentation().split()[0]).is_file()


def test_sources_that_are_not_installed_name_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Message:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "metadata", refuse)
    assert documentation().startswith("docs/command-line.md")


@pytest.mark.parametrize("words", [[], ["topic"], ["cluster"], ["profile"]])
def test_a_group_ends_with_the_place(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_urls(monkeypatch, "Documentation, https://example.org/docs")
    assert run_cli([*words, "--help"]) == 0
    command_help, place = capsys.readouterr().out.splitlines()[-2:]
    assert (
        command_help.strip() == f"Help of a command: {' '.join(['ottla', *words])} COMMAND --help"
    )
    assert place.strip() == "Documentation: https://example.org/docs"
