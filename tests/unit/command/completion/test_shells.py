"""What a shell is answered at a tab, of names that anybody may have chosen."""

from __future__ import annotations

import pytest

from client import cluster as cluster_module
from command.cli import run_cli
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of

GROUPS = (
    "audit$(touch ran)",
    "a:b",
    "a:c d",
    "it's",
    "com,ma",
    "new\nline",
    "ter\x1b]0;title\x07",
    "tur\u202ened",
    "--execute",
    "\u0416 2",
)


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ListGroupsResponse(groups=[ListedGroup(name) for name in GROUPS])
    found = ScriptedCluster([topic_of("orders")], {"ListGroupsRequest": lambda _: listed})
    monkeypatch.setattr(cluster_module, "ClusterClient", lambda *_: found)


class Shell:
    """Asks as a script does."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
    ) -> None:
        self._set, self._said = monkeypatch.setenv, capsys
        self._set("_OTTLA_COMPLETE", f"{kind}_complete")

    def ask(self, **variables: str) -> list[str]:
        for name, value in variables.items():
            self._set(name, value)
        with pytest.raises(SystemExit) as end:
            run_cli([])
        assert end.value.code == 0
        return [line for line in self._said.readouterr().out.split("\n") if line]


class TestBash:
    @pytest.fixture
    def shell(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
        return Shell(monkeypatch, capsys, "bash")

    @pytest.mark.parametrize(
        ("typed", "word", "answer"),
        [
            ("group describe au", "au", ["audit\\$\\(touch\\ ran\\)"]),
            ('group describe "au', "au", ["audit\\$(touch ran)"]),
            ("group describe 'au", "au", ["audit$(touch ran)"]),
            ("group describe it", "it", ["it\\'s"]),
            ("group describe 'it", "it", ["it'\\''s"]),
            ("group describe 'it'", "'it'", ["it\\'s"]),
            ("consume orders --group au", "au", ["audit\\$\\(touch\\ ran\\)"]),
            # A colon and an equals sign part words: bash replaces what is behind them.
            ("group describe a:", "", ["b", "c\\ d"]),
            ("group describe a:c\\ ", "c\\ ", ["c\\ d"]),
            ('group describe "a:', "a:", ["a:b", "a:c d"]),
            ("consume orders --group=au", "au", ["audit\\$\\(touch\\ ran\\)"]),
            ("consume orders --group=au", "--group=au", ["--group=audit\\$\\(touch\\ ran\\)"]),
            ("consume --bootstrap-server here:9092 o", "o", ["orders"]),
            ("group describe 'a:b' it", "it", ["it\\'s"]),
            ("group describe \u0416", "\u0416", ["\u0416\\ 2"]),
            # Nobody can see what these are, and no quotes of bash keep a newline.
            ("group describe ne", "ne", []),
            ("group describe te", "te", []),
            ("group describe tu", "tu", []),
            # It would not be the group's name there, but an option.
            ("group describe --e", "--e", []),
            ("group describe -- --e", "--e", ["--execute"]),
            # Bash has a meaning of its own for these.
            ("group describe $(au", "au", []),
            ("group describe a>au", "au", []),
            ("group describe $'au", "au", []),
            ("group describe =", "", []),
            ("group describe au", "something else", []),
            ("", "", []),
        ],
    )
    def test_a_name_comes_quoted_as_its_word_was_begun(
        self, shell: Shell, typed: str, word: str, answer: list[str]
    ) -> None:
        assert shell.ask(_OTTLA_LINE=f"ottla {typed}" if typed else "", _OTTLA_WORD=word) == answer

    def test_commands_and_options(self, shell: Shell) -> None:
        assert shell.ask(_OTTLA_LINE="ottla prod", _OTTLA_WORD="prod") == ["produce"]
        line = "ottla group describe --mem"
        assert shell.ask(_OTTLA_LINE=line, _OTTLA_WORD="--mem") == ["--members"]

    def test_a_script_of_an_earlier_release_gets_what_needs_no_quotes(self, shell: Shell) -> None:
        """It lies in a file of somebody's, and puts on the line what it gets."""
        answer = shell.ask(COMP_WORDS="ottla\ngroup\ndescribe\n", COMP_CWORD="3")
        assert answer == ["plain,a:b", "plain,com,ma"]


@pytest.mark.parametrize("kind", ["zsh", "fish"])
def test_zsh_and_fish_get_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """They quote. A line is a name: none with a newline."""
    shell = Shell(monkeypatch, capsys, kind)

    def offered(words: str, current: str) -> list[str]:
        place = current if kind == "fish" else str(words.count(" "))
        answer = shell.ask(COMP_WORDS=words, COMP_CWORD=place)
        return answer[1::3] if kind == "zsh" else [line.removeprefix("plain,") for line in answer]

    assert sorted(offered("ottla group describe ", "")) == sorted(
        name for name in GROUPS if name.isprintable() and name != "--execute"
    )
    assert offered("ottla consume orders --group=it", "--group=it") == ["--group=it's"]
