"""The checker finds every kind of anomaly that is planted, and nothing in clean histories."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.checker import check, summary
from tests.chaos.history import History, Send
from tests.chaos.synthetic import PLANTS, clean_history
from tests.chaos.synthetic_transactions import TRANSACTION_PLANTS

SEEDS = range(20)
ALL_PLANTS = {**PLANTS, **TRANSACTION_PLANTS}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_history_raises_no_alarm(seed: int) -> None:
    assert check(clean_history(seed)) == []


@pytest.mark.long(sample=8)
@pytest.mark.parametrize("kind", ALL_PLANTS)
def test_what_is_planted_is_found(kind: str) -> None:
    for seed in SEEDS:
        history = clean_history(seed)
        ALL_PLANTS[kind](history, random.Random(f"{kind} {seed}"))
        found = {anomaly.kind for anomaly in check(history)}
        assert kind in found, f"seed {seed}: {found}"


def test_a_history_survives_its_file(tmp_path: Path) -> None:
    history = clean_history(1)
    history.write(tmp_path / "history.jsonl")
    assert History.read(tmp_path / "history.jsonl").events == history.events


def test_the_summary_counts_and_shows() -> None:
    history = clean_history(2)
    for send in list(history.of(Send))[:20]:
        history.add(
            send._replace(value=send.value + 10**6, outcome="ok", offset=10**6 + send.value)
        )
    told = summary(check(history))
    assert "lost-write" in told
    examples = told["lost-write"]
    assert isinstance(examples, dict) and len(examples["examples"]) <= 8 <= examples["count"]
