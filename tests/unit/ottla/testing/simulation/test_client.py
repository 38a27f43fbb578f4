"""What a client asks the worker for, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Record
from ottla.testing.simulation.client import Produced, SimulatedClient
from ottla.testing.simulation.driver import Driver
from tests.unit.ottla.testing.simulation.made_up import MadeUpWorld

RECORD = ["t", 0, 4, 17, b"k", b"v", [["h", b"x"]]]


Call = Callable[[SimulatedClient], Awaitable[object]]


def does(call: Call, **results: Json) -> tuple[object, ...]:
    """What a call gives; the names and args of the operations that it began."""
    world = MadeUpWorld()
    world.results = results
    client = SimulatedClient("c", idempotent=False)

    async def main() -> object:
        return await call(client)

    result = Driver(world).run(main())
    assert all(one.client == "c" and one.args["idempotent"] is False for one in world.begun)
    return (result, *((one.name, one.args, one.shown) for one in world.begun))


def test_produce() -> None:
    result, (name, args, shown) = does(
        lambda c: c.produce("t", {"a": 1}, key="k", acks=1, timeout=2.0), produce=[3, 9]
    )
    assert result == Produced("t", 3, 9) and name == "produce"
    assert args["records"][0]["value"] == b'{"a": 1}' and args["records"][0]["key"] == b"k"
    assert (args["acks"], args["timeout_ms"], args["partition"]) == (1, 2_000.0, None)
    assert shown == """produce t b'k': b'{"a": 1}'"""
    with pytest.raises(Misuse, match="acks is 'all', 1 or 0, not 2"):
        does(lambda c: c.produce("t", b"", acks=2))


def test_read_and_poll() -> None:
    record = Record("t", 0, 4, 17, b"k", b"v", (("h", b"x"),))
    found, first, second = does(lambda c: c.read("t"), fetch=[[RECORD], 5, 5], offset=4)
    assert found == [record] and first[0] == "offset" and first[1]["which"] == "earliest"
    assert second[1]["offset"] == 4 and second[1]["count"] == 1
    found, only = does(lambda c: c.poll("t", 0, 7, wait=0.25), fetch=[[], 7, 7])
    assert found == [] and (only[1]["count"], only[1]["wait_ms"]) == (0, 250)
    with pytest.raises(Misuse, match="an offset is a number, 'earliest' or 'latest', not 'first'"):
        does(lambda c: c.read("t", offset="first"))


def test_groups_and_topics() -> None:
    _, (_, args, shown) = does(lambda c: c.commit("g", "t", 5))
    assert args["offsets"] == [["t", 0, 5]] and args["generation"] == -1
    assert shown == "commit g t-0 at 5"
    assert does(lambda c: c.committed("g", "t"))[0] is None
    assert does(lambda c: c.committed("g", "t"), committed=5)[0] == 5
    _, (_, args, _) = does(lambda c: c.create_topic("t", 3, configs={"a": "b"}))
    assert (args["partitions"], args["replication"], args["configs"]) == (3, -1, {"a": "b"})
    assert does(lambda c: c.partitions("t"), partitions=3)[0] == 3


def test_any_request() -> None:
    answer, (_, args, shown) = does(
        lambda c: c.request("Metadata", {"topics": None}, broker=2), request={"brokers": []}
    )
    assert answer == {"brokers": []} and shown == "request Metadata"
    assert (args["api"], args["fields"], args["version"]) == ("Metadata", {"topics": None}, None)
    assert args["broker"] == 2
