"""Which cluster a command talks to: the words, the environment, the profile in use."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from client.profiles import Profile, Profiles, save_profiles
from command.admin.options import with_bootstrap_server, with_command_config


@click.command()
@with_bootstrap_server
@with_command_config
def command(bootstrap_server: str, command_config: str | None) -> None:
    print(f"{bootstrap_server} {command_config}")


@pytest.fixture(autouse=True)
def nothing_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("OTTLA_PROFILE", "OTTLA_BOOTSTRAP_SERVERS", "OTTLA_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    command.main(list(words), standalone_mode=False)
    return capsys.readouterr().out.strip()


def test_the_profile_with_its_own_login_and_for_its_own_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save_profiles(Profiles("a", {"a": Profile("one:1", "/a")}))
    assert said(capsys) == "one:1 /a"
    assert said(capsys, "--command-config", "/b") == "one:1 /b"
    assert said(capsys, "--bootstrap-server", "two:2") == "two:2 None"
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", "three:3")
    assert said(capsys) == "three:3 None"
    assert said(capsys, "--bootstrap-server", "two:2") == "two:2 None"
