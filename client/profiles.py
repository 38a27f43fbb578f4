"""Clusters by a name: which one commands talk to where nothing else says so.

    profile = "test"                          # the one in use
    [profiles.test]
    bootstrap-server = "kafka-1:9092,kafka-2:9092"
    command-config = "/etc/kafka/test.properties"

The file is `ottla/config.toml` in the folder of your configurations. The command line and the
environment go before it. Owns the file; never asks a cluster.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from broker.config.start_error import StartError

DEFAULT_BOOTSTRAP_SERVER = "localhost:9092"
_IN_USE = "profile"
_BOOTSTRAP, _CONFIG = "bootstrap-server", "command-config"


class Profile(NamedTuple):
    """How a cluster is reached."""

    bootstrap_server: str
    command_config: str | None = None


class Profiles(NamedTuple):
    """What the file says."""

    in_use: str | None
    by_name: dict[str, Profile]

    @property
    def chosen(self) -> Profile | None:
        """The one that commands take, which OTTLA_PROFILE names or else the file. Raises
        StartError where there is no such one."""
        name = os.environ.get("OTTLA_PROFILE") or self.in_use
        if name is None:
            return None
        if name not in self.by_name:
            raise StartError(f"there is no profile {name}: ottla profile list shows all")
        return self.by_name[name]


def profiles_file() -> str:
    """Where the profiles stand."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "ottla", "config.toml")


def load_profiles() -> Profiles:
    """What the file says; without one there are none. Raises StartError."""
    file = profiles_file()
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except FileNotFoundError:
        return Profiles(None, {})
    import tomllib  # where there are profiles alone: a command has to be quick

    try:
        found = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartError(f"{file}: {error}") from error
    in_use, by_name = found.get(_IN_USE), found.get("profiles", {})
    if not isinstance(by_name, dict) or not (in_use is None or isinstance(in_use, str)):
        raise StartError(f'{file}: it needs profile = "NAME" and [profiles.NAME]')
    return Profiles(in_use, {name: _profile(file, name, one) for name, one in by_name.items()})


def save_profiles(profiles: Profiles) -> None:
    """Write the file, or none of it."""
    lines = [] if profiles.in_use is None else [f"{_IN_USE} = {_quoted(profiles.in_use)}"]
    for name, one in sorted(profiles.by_name.items()):
        lines += ["", f"[profiles.{_quoted(name)}]"]
        lines.append(f"{_BOOTSTRAP} = {_quoted(one.bootstrap_server)}")
        if one.command_config is not None:
            lines.append(f"{_CONFIG} = {_quoted(one.command_config)}")
    file = profiles_file()
    os.makedirs(os.path.dirname(file), exist_ok=True)
    new = f"{file}.new"
    with open(new, "w", encoding="utf-8") as opened:
        opened.write("\n".join(lines).lstrip("\n") + "\n")
    os.replace(new, file)


def _quoted(text: str) -> str:
    """A basic string of TOML, which JSON's are too."""
    return json.dumps(text)


def default_bootstrap_server() -> str:
    """Of the profile in use, or this machine's."""
    chosen = load_profiles().chosen
    return DEFAULT_BOOTSTRAP_SERVER if chosen is None else chosen.bootstrap_server


def default_command_config() -> str | None:
    """Of the profile in use; None where it has none."""
    chosen = load_profiles().chosen
    return None if chosen is None else chosen.command_config


def _profile(file: str, name: str, found: object) -> Profile:
    known = found if isinstance(found, dict) else {}
    servers, config = known.get(_BOOTSTRAP), known.get(_CONFIG)
    if not isinstance(servers, str) or not (config is None or isinstance(config, str)):
        raise StartError(f'{file}: [profiles.{name}] needs {_BOOTSTRAP} = "HOST:PORT"')
    return Profile(servers, config)
