"""Brokers of a test's own: what the fixture `ottla_broker_factory` is.

def test_it(ottla_broker_factory: BrokerFactory) -> None:
    broker = ottla_broker_factory({"num.partitions": "3"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ottla.testing.broker import START_TIMEOUT_S, Broker


class BrokerFactory:
    """Starts brokers. A broker ends with the fixture that made it, or with the test; `close()` ends
    it before."""

    def __init__(
        self, made: Callable[[Broker], None] | None = None, *, keep_data: bool = False
    ) -> None:
        """`made` hears of each broker that has started; `keep_data` where a call says nothing."""
        self._made = made
        self._keep_data = keep_data

    def __call__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        start_timeout_s: float = START_TIMEOUT_S,
        keep_data: bool | None = None,
    ) -> Broker:
        """A broker that accepts connections; the arguments are those of `Broker`. StartFailed."""
        broker = Broker(
            properties,
            data_dir=data_dir,
            port=port,
            start_timeout_s=start_timeout_s,
            keep_data=self._keep_data if keep_data is None else keep_data,
        )
        try:
            broker.start()
        except BaseException:
            broker.close()
            raise
        if self._made is not None:
            self._made(broker)
        return broker
