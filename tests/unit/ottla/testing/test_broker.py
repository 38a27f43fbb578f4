"""What a broker is called. What it does: `tests/compat/testing`."""

from __future__ import annotations

import contextlib

from ottla.testing.broker import Broker, Membership


def test_its_id() -> None:
    member = Membership(3, "cluster", ())
    for one, node_id in (
        (Broker(), 1),
        (Broker({"node.id": "7"}), 7),
        (Broker(member=member), 3),
    ):
        with contextlib.closing(one):
            assert one.node_id == node_id
            assert repr(one) == f"<Broker {node_id} on {one.bootstrap_servers}>"
