"""Where the tests' process stands: what a broker takes over, as if it had been started there."""

from __future__ import annotations

import os
import sys

from ottla.testing.frames import Json


def place() -> dict[str, Json]:
    """The folder, the environment, and where modules are found."""
    try:
        folder: str | None = os.getcwd()
    except FileNotFoundError:
        folder = None
    return {"folder": folder, "environment": dict(os.environ), "path": list(sys.path)}
