"""What an endpoint is given of a request, and what all of them share."""

from __future__ import annotations

from typing import cast

import pytest

from console import endpoints as module
from console.clusters import Clusters
from console.endpoints import Ask, BadAsk, Console
from console.options import ConsoleOptions


def test_parameters_are_checked() -> None:
    ask = Ask({"name": "orders", "count": "12", "odd": "1x", "on": "1", "off": "false"})
    assert ask.text("name") == "orders"
    assert ask.text("other", "default") == "default"
    assert ask.number("count", least=1, most=12) == 12
    assert ask.number("other", 7) == 7
    assert (ask.flag("on"), ask.flag("off"), ask.flag("other")) == (True, False, False)
    with pytest.raises(BadAsk, match="other is missing"):
        ask.text("other")
    with pytest.raises(BadAsk, match="other is missing"):
        ask.number("other")
    with pytest.raises(BadAsk, match="odd must be a whole number, not '1x'"):
        ask.number("odd")
    with pytest.raises(BadAsk, match="count is 12, but must be at least 1 and at most 5"):
        ask.number("count", least=1, most=5)


class Sampler:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_state_is_made_once_and_closed_at_the_end() -> None:
    closed: list[bool] = []

    class Shared:
        def close(self) -> None:
            closed.append(True)

    console = Console(ConsoleOptions("localhost:9092"), cast(Clusters, Shared()))
    sampler = console.state(Sampler)
    assert console.state(Sampler) is sampler
    assert sampler.console is console
    console.close()
    assert sampler.is_closed
    assert closed == [True]


def test_brokers_that_were_seen_are_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shared:
        known = [("two", 9092), ("one", 9092)]

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        module, "ClusterClient", lambda *those, **named: asked.append((*those, *named.values()))
    )
    console = Console(ConsoleOptions("one", command_config="f"), cast(Clusters, Shared()))
    assert console.addresses() == Shared.known
    console.own_cluster("me")
    assert asked == [("one", "f", "me", Shared.known, False)]
