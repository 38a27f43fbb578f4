"""What a scenario is told of an operation that failed, and the text of a seed that did."""

from __future__ import annotations

from ottla.testing.errors import Misuse, OttlaError
from ottla.testing.simulation.errors import OperationFailed, SimulationFailed, error_of


def test_an_error_comes_over_the_channel_with_its_name() -> None:
    found = error_of({"error": "TIMED_OUT", "text": "no success", "unsure": True})
    assert isinstance(found, OperationFailed) and isinstance(found, OttlaError)
    assert (found.error, found.unsure, str(found)) == ("TIMED_OUT", True, "no success")
    assert isinstance(error_of({"error": "MISUSE", "text": "no API", "unsure": False}), Misuse)


def test_a_failed_seed_says_how_to_replay_it() -> None:
    failed = SimulationFailed(17, "paid twice", ["0.1 a", "0.2 b"], "seeds=[17]")
    assert str(failed) == "seed 17: paid twice\n  replay: seeds=[17]\n  0.1 a\n  0.2 b"
    assert isinstance(failed, AssertionError) and failed.seed == 17 and len(failed.timeline) == 2
