"""The place of a broker under test: the folder and the environment of the tests' process.

The host process keeps the folder and the environment of the moment when it was started. A test may
have changed them since, and broker properties may name files relative to that folder, or a class of
the test's own project (`python:…`). So each start sends them again. The import path of the tests is
appended to the broker's own, so that a module of the tests never hides a module of the broker.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping

from ottla.testing.frames import Json


def adopt_place(place: Mapping[str, Json]) -> None:
    """Give this process the environment variables and the working directory in `place`, and append
    its import path to `sys.path`. A directory that was removed is ignored."""
    os.environ.clear()
    os.environ.update(place["environment"])
    sys.path += [entry for entry in place["path"] if entry and entry not in sys.path]
    if place["folder"] is not None:
        with contextlib.suppress(OSError):  # the folder was removed meanwhile
            os.chdir(place["folder"])
