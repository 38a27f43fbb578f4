"""The bench of brokers in tests, where it needs Go: kfake's program starts, stops and starts."""

from __future__ import annotations

import pytest

from bench.testing.candidates import Kfake
from bench.testing.clients import answers, confluent

# A first build compiles its modules.
pytestmark = [pytest.mark.go, pytest.mark.timeout(600)]


@pytest.mark.long
def test_kfake() -> None:
    one = Kfake()
    try:
        one.prepare()
        for name in ("first", "second"):
            address = one.start()
            answers(address)
            confluent(address, name, name)
            one.stop()
        with pytest.raises(ConnectionRefusedError):
            answers(address)
    finally:
        one.close()
