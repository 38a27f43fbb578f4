"""Java's share consumer in each of its modes.

The lines were printed with `--broker=apache-kafka` first, and are the same there.
"""

from __future__ import annotations

import pytest

from tests.compat.share_rounds import SEEN
from tests.tools.java_tools import run_program

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]


def test_the_scripts_see_what_they_see_at_kafka(broker: str) -> None:
    done = run_program("ShareRounds", broker, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == SEEN
