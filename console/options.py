"""What a console was started with: where it connects, who may reach it, what explains values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from command.admin.decode_options import DecodeOptions


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """As `ottla console` was given them."""

    bootstrap_server: str
    command_config: str | None = None
    data: tuple[Path, ...] = ()
    """Data folders of nodes on this machine; none for a remote cluster."""
    allow_writes: bool = False
    host: str = "127.0.0.1"
    port: int = 8080
    """0: one that is free."""
    allowed_hosts: tuple[str, ...] = ()
    """Names by which browsers may reach it, beside those of this machine."""
    decode: DecodeOptions = field(default_factory=DecodeOptions)
