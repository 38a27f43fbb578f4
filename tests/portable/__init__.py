"""Python as it is on a system that is not Linux, for a run of tests or for one broker.

`environment()` has each Python that is started with it take away what only Linux has, before
anything else is imported (`sitecustomize`, `linux_names`); what such a process starts is without it
as well. `skipped` names the tests that check what Linux alone does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def environment() -> dict[str, str]:
    """That of this process, and without what only Linux has."""
    before = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(FOLDER), before)))}


def is_without_linux() -> bool:
    """Whether this process was started so."""
    return "linux_names" in sys.modules
