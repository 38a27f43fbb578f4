"""Clusters by a name: the file, and which profile is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.start_error import StartError
from client.profiles import (
    Profile,
    Profiles,
    default_bootstrap_server,
    default_command_config,
    load_profiles,
    profiles_file,
    save_profiles,
)


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OTTLA_PROFILE", raising=False)
    return tmp_path / "ottla" / "config.toml"


def test_where_they_stand(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert profiles_file() == str(file)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/me")
    assert profiles_file() == "/me/.config/ottla/config.toml"


def test_without_a_file_it_is_this_machine() -> None:
    assert load_profiles() == Profiles(None, {})
    assert (default_bootstrap_server(), default_command_config()) == ("localhost:9092", None)


def test_what_is_saved_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"a": Profile("one:1"), 'b "c".d ä': Profile("two:2,three:3", "/x\\y.properties")}
    saved = Profiles('b "c".d ä', names)
    save_profiles(saved)
    assert load_profiles() == saved
    assert default_bootstrap_server() == "two:2,three:3"
    assert default_command_config() == "/x\\y.properties"
    monkeypatch.setenv("OTTLA_PROFILE", "a")
    assert (default_bootstrap_server(), default_command_config()) == ("one:1", None)
    monkeypatch.setenv("OTTLA_PROFILE", "c")
    with pytest.raises(StartError, match="there is no profile c"):
        default_bootstrap_server()


@pytest.mark.parametrize(
    "text",
    ["x", "profile = 1", "profiles = 1", "[profiles.a]", "[profiles.a]\nbootstrap-server = 1"],
)
def test_a_wrong_file_is_named(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(StartError, match=str(file)):
        load_profiles()


def test_nothing_is_lost_where_it_cannot_be_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_profiles(Profiles(None, {"a": Profile("one:1")}))
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(StartError, match=f"cannot write {file}: full; XDG_CONFIG_HOME names"):
        save_profiles(Profiles(None, {}))
    assert list(load_profiles().by_name) == ["a"]
