"""Pace, progress and barriers of the generator's job, with a sender that only remembers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.generator import GeneratorSpec, generated
from pipeline.jobs import generate
from pipeline.jobs.generate import APART_MAX_MS, Progress, send_paced, spec_of


class Clock:
    """Time that only sleep moves on."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Memory:
    """What was sent, with None for each barrier."""

    def __init__(self) -> None:
        self.seen: list[int | None] = []

    def send(self, key: bytes, value: bytes, timestamp_ms: int) -> None:
        self.seen.append(timestamp_ms)

    def flush(self) -> None:
        self.seen.append(None)


def sent(events: int, rate: float) -> tuple[Memory, float]:
    clock, memory = Clock(), Memory()
    sender: Any = memory
    progress = Progress(events, clock.now)
    send_paced(
        generated(GeneratorSpec(events=events)), sender, rate, progress, clock.sleep, clock.now
    )
    return memory, clock.now_s - 100


def test_it_keeps_to_the_rate() -> None:
    _, spent = sent(5_000, 1_000)
    assert 4.9 <= spent <= 5.0
    assert sent(5_000, 0)[1] == 0


def test_what_is_under_way_spans_five_minutes_of_the_operators_clock_at_most() -> None:
    memory, _ = sent(5_000, 0)
    between: list[int] = []
    for one in memory.seen:
        if one is None:
            assert not between or between[-1] - between[0] < APART_MAX_MS
            between = []
        else:
            between.append(one)
    assert between == [], "all are acknowledged at the end"
    assert memory.seen.count(None) > 200


def test_progress_is_a_line_every_two_seconds() -> None:
    clock = Clock()
    progress = Progress(1_000, clock.now)
    assert progress.at(10, 0) is None
    clock.sleep(2)
    line = progress.at(500, 36_000_000)
    assert line == "500 of 1,000 (50 %), 250/s, the operator's clock is at 1970-01-01 10:00"
    assert progress.at(501, 0) is None


def test_the_options_are_the_spec() -> None:
    options = parser_for("generate").parse_args(["generate", "--seed", "9", "--late", "0.5"])
    assert spec_of(options) == GeneratorSpec(seed=9, late_share=0.5)


def test_a_topic_that_is_made_again_meanwhile_holds_not_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its topic is asked for before the first record, and once all are acknowledged."""
    steps: list[str] = []

    def kept(topic: str, topic_id: str) -> None:
        steps.append(f"kept {topic} {topic_id}")
        raise PipelineError("made again")

    cluster = SimpleNamespace(
        ensure=lambda *_: True,
        topic_id=lambda topic: steps.append("id") or "A",
        check_kept=kept,
    )
    sender = SimpleNamespace(
        send=lambda *_: None, flush=lambda: steps.append("flush"), acknowledged=1
    )
    monkeypatch.setattr(generate, "Cluster", lambda _: cluster)
    monkeypatch.setattr(generate, "Sender", lambda *_: sender)
    with pytest.raises(PipelineError, match="made again"):
        generate.run(parser_for("generate").parse_args(["generate", "--events", "1"]))
    assert steps == ["id", "flush", "flush", "kept cdr A"]
