"""A factory of brokers: the value of the fixture `ottla_broker_factory`.

def test_it(ottla_broker_factory: BrokerFactory) -> None:
    broker = ottla_broker_factory({"num.partitions": "3"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ottla.testing.broker import START_TIMEOUT_S, Broker


class BrokerFactory:
    """A callable that starts brokers. Each broker ends with the fixture or the test that made it;
    `close()` ends it earlier."""

    def __init__(
        self, made: Callable[[Broker], None] | None = None, *, keep_data: bool = False
    ) -> None:
        """Create a factory that calls `made` with each broker after the broker has started.
        `keep_data` is the default of the calls' `keep_data`."""
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
        """Start a broker, and return it when it accepts connections. The arguments are those of
        `Broker`. If the start fails, closes the broker and raises StartFailed."""
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
