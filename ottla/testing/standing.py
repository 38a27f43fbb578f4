"""The environment of the tests' process, in which a broker runs as if it had been started there."""

from __future__ import annotations

import os
import sys

from ottla.testing.frames import Json


def place() -> dict[str, Json]:
    """Return this process's working directory ("folder"; None if it was removed), environment
    variables ("environment") and import path ("path")."""
    try:
        folder: str | None = os.getcwd()
    except FileNotFoundError:
        folder = None
    return {"folder": folder, "environment": dict(os.environ), "path": list(sys.path)}
