"""Where a broker under test stands: in the folder and the environment of the tests' process.

The host has those of the moment when it was started. A test may have changed them since, and its
properties may name files by them, or a class of the test's own project (`python:…`). So they come
with each start. What can be imported there comes after what is ours: no name of ours is taken.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping

from ottla.testing.frames import Json


def stand_where(place: Mapping[str, Json]) -> None:
    """Take over `folder`, `environment` and `path` of another process."""
    os.environ.clear()
    os.environ.update(place["environment"])
    sys.path += [one for one in place["path"] if one and one not in sys.path]
    if place["folder"] is not None:
        with contextlib.suppress(OSError):  # it was removed meanwhile
            os.chdir(place["folder"])
