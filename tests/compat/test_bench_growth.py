"""The curves of the bench on small sizes: each size is really there, and its load ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import growth
from bench.curves import CURVES, Curve, segments
from bench.peers import start_peer

SMALL = {"connections": (5, 60), "members": (1, 3)}


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_curve_is_measured(curve: Curve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(curve, sizes=SMALL.get(curve.name, (9, 20)))
    monkeypatch.setattr(growth, "CURVES", [small])
    kept, drawn = tmp_path / "growth.json", tmp_path / "growth.svg"
    words = ["--turns", "1", "--window", "0.1", "--json", str(kept), "--picture", str(drawn)]
    assert growth.main(words) in (0, 1)
    (measured,) = json.loads(kept.read_text())["curves"]
    assert measured["sizes"] == list(small.sizes)
    assert all(turn > 0 for turns in measured["us_per_request"] for turn in turns)
    assert drawn.read_text().startswith("<svg")


def test_so_many_segments_are_there() -> None:
    peer = start_peer("ottla")
    try:
        prepared = segments(peer, 12)
        prepared.load(0.1)
        prepared.close()
        assert len(list(peer.folders[0].glob("active-0/*.log"))) == 12
    finally:
        peer.stop()
