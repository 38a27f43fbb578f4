"""The bench of brokers in tests: a round of its command; and kfake's program, which needs Go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.testing import __main__ as command
from bench.testing import candidates, clients
from bench.testing.candidates import Kfake
from bench.testing.clients import answers, confluent
from bench.testing.results import Results
from bench.testing.rounds import MEASURES


def test_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "run.json"
    words = ("--candidates", "ottla", "--rounds", "1", "--json", str(kept))
    monkeypatch.setattr(clients, "PATIENCE_S", 60.0)  # the machine may be busy
    monkeypatch.setattr(candidates, "_LOAD_S", 0.0)
    monkeypatch.setattr(sys, "argv", ["bench.testing", *words])
    assert command.main() in (0, 1)  # whether it was quick is not asked here
    found = Results.load(kept)
    (name,) = found.candidates
    assert found.failures == found.lacking == {}
    assert {one: len(found.of(name, one)) for one in MEASURES} == dict.fromkeys(MEASURES, 1)
    said = capsys.readouterr()
    assert "round 1 of 1" in said.err and said.out.startswith("| milliseconds")


@pytest.mark.long
@pytest.mark.go
@pytest.mark.timeout(600)  # a first build compiles its modules
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
