"""Marks for tests that run Python clients which leave sockets open in the test's process.

kafka-python 3.0 does not close a socket whose TLS handshake fails, for example because the broker
dies. It and aiokafka also leave sockets open if their start fails. The garbage collector finds such
a socket during another test, which would fail because of the warning.
"""

from __future__ import annotations

import pytest

CLIENTS_LEAVE_THINGS_OPEN = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
"""Marks of tests that run such clients; `tests/conftest.py` sets them on whole folders."""
