"""The loads through TLS: what they need, and how a fetch is counted."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench.fetching import BATCH_RECORDS, VALUE_BYTES
from bench.tls import fetches, secured_of, warm_up_s
from tests.unit.bench.counted_peer import CountedPeer


class StandInWire:
    """Answers each request with so many bytes."""

    def __init__(self, answer_bytes: int) -> None:
        self.sent: list[bytes] = []
        self.socket = SimpleNamespace(sendall=self.sent.append)
        self._answer_bytes = answer_bytes

    def skip_response(self) -> int:
        return self._answer_bytes


def test_a_peer_without_secured_listeners_is_refused() -> None:
    with pytest.raises(RuntimeError, match="counted was started without secured listeners"):
        secured_of(CountedPeer(0))


def test_only_a_jvm_is_warmed() -> None:
    peer = CountedPeer(0)
    assert warm_up_s(peer, 2.0) == 0
    peer.is_jvm = True
    assert warm_up_s(peer, 2.0) == 6


def test_frames_go_in_turn_and_bytes_are_counted() -> None:
    wire = StandInWire(BATCH_RECORDS * VALUE_BYTES + 100)
    done = fetches(wire, [b"a", b"b"])(0.001)  # type: ignore[arg-type]
    assert wire.sent[:3] == [b"a", b"b", b"a"]
    assert done.units == len(wire.sent) * (BATCH_RECORDS * VALUE_BYTES + 100)
    assert len(done.trips) == len(wire.sent)
    assert done.seconds == pytest.approx(sum(done.trips))


def test_an_answer_without_its_batch_is_refused() -> None:
    with pytest.raises(RuntimeError, match="less than its batch"):
        fetches(StandInWire(100), [b"a"])(0.001)  # type: ignore[arg-type]
