"""Profiles: named clusters. Commands use the chosen one, unless an option names another cluster.

    profile = "test"                          # the one in use
    [profiles.test]
    bootstrap-server = "kafka-1:9092,kafka-2:9092"
    command-config = "/etc/kafka/test.properties"

The file is `ottla/config.toml` in the user's configuration folder. Options of the command line and
the environment override it. Owns the file; never asks a cluster.
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
    """The addresses of a cluster, and a file of client properties if it needs one."""

    bootstrap_server: str
    command_config: str | None = None


class Profiles(NamedTuple):
    """The profiles of the file; `in_use` is the name of the chosen one, None if there is none."""

    in_use: str | None
    by_name: dict[str, Profile]

    @property
    def chosen(self) -> Profile | None:
        """The profile that commands use: the one that OTTLA_PROFILE names, else that of the file.

        None if neither names one. Raises StartError if there is no profile with that name.
        """
        name = os.environ.get("OTTLA_PROFILE") or self.in_use
        if name is None:
            return None
        if name not in self.by_name:
            raise StartError(f"there is no profile {name}: ottla profile list shows all")
        return self.by_name[name]


def profiles_file() -> str:
    """Return the path of the file of profiles."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "ottla", "config.toml")


def load_profiles() -> Profiles:
    """Load the profiles from the file of profiles; none if there is no file. Raises StartError for
    an invalid file."""
    file = profiles_file()
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except FileNotFoundError:
        return Profiles(None, {})
    import tomllib  # only if there is a file: a command has to start quickly

    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartError(f"{file}: {error}") from error
    in_use, by_name = document.get(_IN_USE), document.get("profiles", {})
    if not isinstance(by_name, dict) or not (in_use is None or isinstance(in_use, str)):
        raise StartError(f'{file}: it needs profile = "NAME" and [profiles.NAME]')
    return Profiles(
        in_use, {name: _checked_profile(file, name, values) for name, values in by_name.items()}
    )


def save_profiles(profiles: Profiles) -> None:
    """Write the profiles to the file of profiles. The file is replaced in one step, so it is never
    half written; its folder is created if missing. Raises StartError if it cannot be written."""
    lines = [] if profiles.in_use is None else [f"{_IN_USE} = {_quoted(profiles.in_use)}"]
    for name, profile in sorted(profiles.by_name.items()):
        lines += ["", f"[profiles.{_quoted(name)}]"]
        lines.append(f"{_BOOTSTRAP} = {_quoted(profile.bootstrap_server)}")
        if profile.command_config is not None:
            lines.append(f"{_CONFIG} = {_quoted(profile.command_config)}")
    file = profiles_file()
    new = f"{file}.new"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(new, "w", encoding="utf-8") as opened:
            opened.write("\n".join(lines).lstrip("\n") + "\n")
        os.replace(new, file)
    except OSError as error:
        reason = error.strerror or error
        raise StartError(
            f"cannot write {file}: {reason}; XDG_CONFIG_HOME names another folder for it"
        ) from error


def _quoted(text: str) -> str:
    """Return text as a basic string of TOML; JSON strings have the same form."""
    return json.dumps(text)


def default_bootstrap_server() -> str:
    """Return the address of the profile in use, or DEFAULT_BOOTSTRAP_SERVER. Raises StartError."""
    chosen = load_profiles().chosen
    return DEFAULT_BOOTSTRAP_SERVER if chosen is None else chosen.bootstrap_server


def default_command_config() -> str | None:
    """Return the client properties file of the profile in use, None if it has none.

    Raises StartError.
    """
    chosen = load_profiles().chosen
    return None if chosen is None else chosen.command_config


def _checked_profile(file: str, name: str, values: object) -> Profile:
    """Return the profile of these TOML values.

    Raises StartError if they name no servers or a value has the wrong type.
    """
    entries = values if isinstance(values, dict) else {}
    servers, config = entries.get(_BOOTSTRAP), entries.get(_CONFIG)
    if not isinstance(servers, str) or not (config is None or isinstance(config, str)):
        raise StartError(f'{file}: [profiles.{name}] needs {_BOOTSTRAP} = "HOST:PORT"')
    return Profile(servers, config)
