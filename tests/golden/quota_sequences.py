"""How long Apache Kafka throttles: sequences of what clients do, with the time of each step.

`python -m tests.golden.quota_sequences` asks Kafka's own quota managers (`QuotaOracle` of
`tests/java`, with a clock that stands where each step puts it) and writes
`quota_sequences_kafka.json`; `tests/unit/broker/quotas/test_client_quota_manager_kafka.py`
gives the same sequences to Ottla's.

A step is a list: what, then for `set` and `remove` the entity's user and client id (`{}` none,
`{"name": null}` the default) and the value; for all others the time in milliseconds, user, client
id and value.
"""

from __future__ import annotations

import json
import random
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "quota_sequences_kafka.json"
START_MS = 1_000_000_000_000

Step = list[Any]
Sequence = dict[str, Any]

NONE: dict[str, Any] = {}
DEFAULT: dict[str, Any] = {"name": None}
USER, CLIENT = {"name": "alice"}, {"name": "c1"}
FORMS = (
    (USER, CLIENT),
    (USER, DEFAULT),
    (USER, NONE),
    (DEFAULT, CLIENT),
    (DEFAULT, DEFAULT),
    (DEFAULT, NONE),
    (NONE, CLIENT),
    (NONE, DEFAULT),
)
"""All eight, in the order of their precedence."""
ASKERS = (("alice", "c1"), ("alice", "c2"), ("bob", "c1"), ("bob", "c2"), ("a b/ž", "c1"))


def _sequence(kind: str, num: int, size_s: int, steps: list[Step]) -> Sequence:
    return {"type": kind, "num": num, "size_s": size_s, "steps": steps}


def _even(kind: str, quota: float, value: float, every_ms: int, count: int) -> list[Step]:
    """One client that asks for the same again and again."""
    steps: list[Step] = [["set", USER, NONE, quota]]
    steps += [["record", START_MS + i * every_ms, "alice", "c1", value] for i in range(count)]
    return steps


def _waiting(quota: float, value: float, count: int, rng: random.Random) -> list[Step]:
    """One client, at times of its own."""
    now, steps = START_MS, [["set", USER, NONE, quota]]
    for _ in range(count):
        now += rng.choice((0, 1, 7, 40, 333, 999, 1000, 1001, 2500, 9000, 12_000, 30_000))
        steps.append(["record", now, "alice", "c1", float(round(value * rng.random() * 2))])
    return steps


def _precedence(chosen: tuple[int, ...]) -> list[Step]:
    """Which of these entities counts, for whom: told by the most that fits a window."""
    steps: list[Step] = [["set", *FORMS[i], 1000.0 + i] for i in chosen]
    for user, client in ASKERS:
        steps += [["most", START_MS, user, client], ["tags", START_MS, user, client]]
    return steps


def _changes(kind: str, rng: random.Random, count: int) -> list[Step]:
    """Quotas that come, change and go under clients that go on."""
    now, steps = START_MS, []
    for _ in range(count):
        now += rng.choice((0, 3, 100, 700, 1500, 4000))
        roll = rng.random()
        user, client = rng.choice(ASKERS[:4])
        if roll < 0.12:
            steps.append(["set", *rng.choice(FORMS), float(rng.choice((50, 100, 1000, 5000)))])
        elif roll < 0.2:
            steps.append(["remove", *rng.choice(FORMS), 0.0])
        elif roll < 0.25 and kind != "CONTROLLER_MUTATION":
            steps.append(["record only", now, user, client, float(rng.randrange(2000))])
        elif roll < 0.3 and kind == "FETCH":
            steps.append(["unrecord", now, user, client, float(rng.randrange(500))])
        elif roll < 0.4 and kind == "CONTROLLER_MUTATION":
            steps.append(["permissive", now, user, client, float(rng.randrange(1, 900))])
        else:
            value = rng.randrange(900) if kind == "CONTROLLER_MUTATION" else rng.randrange(3000)
            steps.append(["record", now, user, client, float(value)])
    return steps


def sequences() -> dict[str, Sequence]:
    """By a name that tells the sequence."""
    rng = random.Random(38)
    found: dict[str, Sequence] = {}
    for kind in ("PRODUCE", "FETCH"):
        for num, size_s in ((5, 1), (11, 1), (3, 2), (2, 1)):
            steps = _even(kind, 100_000.0, 50_000.0, 2, 40)
            found[f"{kind} {num}x{size_s} at once"] = _sequence(kind, num, size_s, steps)
            steps = _even(kind, 100_000.0, 50_000.0, 310, 60)
            found[f"{kind} {num}x{size_s} evenly"] = _sequence(kind, num, size_s, steps)
            for seed in range(4):
                steps = _waiting(100_000.0, 90_000.0, 60, rng)
                found[f"{kind} {num}x{size_s} seed {seed}"] = _sequence(kind, num, size_s, steps)
    for num, size_s in ((11, 1), (5, 3)):
        for quota in (0.01, 1.0, 50.0):
            steps = _even("REQUEST", quota, 7.5, 130, 60)
            name = f"REQUEST {num}x{size_s} {quota} percent"
            found[name] = _sequence("REQUEST", num, size_s, steps)
        for quota, value in ((5.0, 20.0), (0.5, 3.0), (5.0, 0.0), (10.0, 1000.0)):
            steps = _even("CONTROLLER_MUTATION", quota, value, 450, 50)
            name = f"CONTROLLER_MUTATION {num}x{size_s} {value} at {quota}"
            found[name] = _sequence("CONTROLLER_MUTATION", num, size_s, steps)
    for size in (1, 2, 3, 8):
        for chosen in combinations(range(8), size):
            steps = _precedence(chosen)
            found[f"entities {chosen}"] = _sequence("PRODUCE", 11, 1, steps)
    for kind in ("PRODUCE", "FETCH", "REQUEST", "CONTROLLER_MUTATION"):
        for seed in range(10):
            found[f"{kind} changes {seed}"] = _sequence(kind, 5, 1, _changes(kind, rng, 120))
    return found


def record() -> None:
    """Ask Kafka's classes."""
    from tests.tools.java_tools import java_command, program_classpath

    asked = sequences()
    done = subprocess.run(
        java_command("QuotaOracle", classpath=program_classpath()),
        input="".join(json.dumps(one) + "\n" for one in asked.values()),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    write_json(RECORDED, dict(zip(asked, answers, strict=True)))


if __name__ == "__main__":
    record()
