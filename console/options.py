"""The options of a console: its cluster, its address, its login, and the schemas of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from command.admin.decode_options import DecodeOptions


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """The options of `ottla console`."""

    bootstrap_server: str
    command_config: str | None = None
    data: tuple[Path, ...] = ()
    """Data folders of nodes on this machine; none for a remote cluster."""
    allow_writes: bool = False
    host: str = "127.0.0.1"
    port: int = 8080
    """The port of the page; 0 stands for any free port."""
    allowed_hosts: tuple[str, ...] = ()
    """The host names by which browsers may reach the console, besides those of this machine."""
    behind_tls: bool = False
    """Whether browsers reach the console only through a proxy with TLS."""
    token: str | None = None
    """The token of the login. Without it, without a token file and without a password file, the
    console makes a token at each start."""
    token_file: Path | None = None
    password_file: Path | None = None
    """The users who log in with a name and a password instead of a token."""
    decode: DecodeOptions = field(default_factory=DecodeOptions)
