"""What Python clients leave open, and how a test that runs them in its own process lives with it.

kafka-python 3.0 forgets a socket whose TLS handshake fails, as when the broker dies meanwhile; it
and aiokafka leave more behind where a start is refused. Left to the garbage collector, such a
socket is found in the middle of some other test, which fails by it.
"""

from __future__ import annotations

import pytest

CLIENTS_LEAVE_THINGS_OPEN = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
"""The marks of tests that run such clients; `tests/conftest.py` gives them to whole folders."""
