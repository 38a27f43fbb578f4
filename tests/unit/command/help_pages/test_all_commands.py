"""The help of every command: whole sentences, examples that click accepts, plain values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command.cli import ottla, run_cli
from tests.tools.plain_words import riddles

_COLUMNS = 80
_CLICKS_OWN_VALUES = re.compile(r"TEXT|INTEGER|FLOAT|PATH|FILENAME|\bRANGE\b|WHOLE|BOOLEAN|UUID")
_EXAMPLE = re.compile(r"\bottla( [^|)]*)")
_REMARK = re.compile(r" {2,}|\)| in ~")


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from _commands(subcommand, f"{path} {name}")


COMMANDS = dict(_commands(ottla, "ottla"))
GROUPS = [path for path, command in COMMANDS.items() if isinstance(command, click.Group)]
OPTIONS = {
    f"{path} {option.opts[-1]}": option
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden
}


@pytest.fixture(autouse=True)
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(_COLUMNS))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("OTTLA_CONFIG", "OTTLA_PROFILE", "OTTLA_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)


def help_of(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_cli([*path.split()[1:], "--help"]) == 0
    return capsys.readouterr().out


def test_the_walk_reaches_all_commands_and_options() -> None:
    assert len(COMMANDS) > 40 and len(OPTIONS) > 150
    assert "ottla cluster kill" in COMMANDS and "ottla quota remove --ip" in OPTIONS


@pytest.mark.parametrize("path", COMMANDS)
def test_no_line_is_cut_or_wider_than_the_terminal(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, _, text = help_of(path, capsys).partition("\n\n")
    assert usage.startswith(f"Usage: {path}")
    assert "..." not in text
    lines = text.splitlines()
    assert [line for line in lines if len(line) > _COLUMNS] == []
    assert [line for line in lines if re.search(r"--[a-z-]*-$", line)] == [], "a cut option"


@pytest.mark.parametrize("path", GROUPS)
def test_a_group_shows_the_whole_first_sentence_of_each_command(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(help_of(path, capsys).split())
    prefix = f"{path} "
    names = [other for other in COMMANDS if re.fullmatch(re.escape(prefix) + r"[a-z-]+", other)]
    assert names
    for name in names:
        row = re.search(rf" {name.removeprefix(prefix)} ([A-Z][^.]*(\.[^ ][^.]*)*\.)", text)
        assert row is not None, name


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_has_an_example_that_its_options_allow(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = list(_examples(help_of(path, capsys)))
    assert any(f"{' '.join(words)} ".startswith(f"{path} ") for words in examples)
    for words in examples:
        _check_words(words, monkeypatch)


def _examples(text: str) -> Iterator[list[str]]:
    """Yield the words of each command line that a help text shows, without remarks behind it."""
    text = text.partition("\n\n")[2].partition("\nOptions:")[0].replace("\\\n", "")
    for line in text.splitlines():
        if not re.match(r"\s+((echo|head) .*\| |(bash|zsh|fish) .*)?ottla |.*\| ottla ", line):
            continue
        for typed in re.findall(_EXAMPLE, re.sub(r"\\ +", "", line)):
            words = re.split(_REMARK, re.sub(r"\s+--", " --", typed))[0].partition(" > ")[0]
            yield ["ottla", *shlex.split(words)]


def _check_words(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let click parse the words, without the files and the cluster that a run needs."""
    context = click.Context(ottla, info_name="ottla")
    command: click.Command = ottla
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        subcommand = command.get_command(context, rest[0])
        assert subcommand is not None, words
        context, command, rest = click.Context(subcommand, context, rest[0]), subcommand, rest[1:]
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            monkeypatch.setattr(parameter.type, "exists", False)
    try:
        command.make_context(words[-1], rest, context)
    except click.UsageError as error:
        pytest.fail(f"{' '.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_has_a_sentence_that_begins_with_a_verb(name: str) -> None:
    text = OPTIONS[name].help or ""
    assert re.fullmatch(r"[A-Z].*\.( \[default[^\]]*\])?", text), text
    as_function = f"def option():\n    {text!r}"
    assert list(riddles(as_function)) == []


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_names_its_value_in_plain_words(name: str) -> None:
    option = OPTIONS[name]
    if option.is_flag or isinstance(option.type, click.Choice):
        return
    assert option.metavar is not None
    assert not _CLICKS_OWN_VALUES.search(option.metavar)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_range_of_numbers_is_in_words(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not re.search(r"[<>]=", help_of(path, capsys))


def test_every_command_has_the_same_short_form_for_the_cluster() -> None:
    short_forms = [opts for option in OPTIONS.values() if (opts := option.opts)[-1] == _CLUSTER]
    assert len(short_forms) > 20
    assert all(opts == ["-b", _CLUSTER] for opts in short_forms)
    others = [name for name, option in OPTIONS.items() if "-b" in option.opts[:-1]]
    assert len(others) == len(short_forms)


def test_the_page_shows_the_help_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[4] / "docs/command-line.md").read_text("utf-8")
    shown = re.findall(r"```console\n\$ (ottla [^\n]*) --help\n(.*?)```", page, re.DOTALL)
    assert shown
    for path, text in shown:
        assert text == help_of(path, capsys)


_CLUSTER = "--bootstrap-server"
