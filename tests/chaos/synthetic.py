"""Clean histories made up by a seed, and anomalies to plant in them: the test of the checker.

The made-up cluster has a true log a key; producers, consumers and a group see parts of it at times
that fit, with failed and indeterminate sends, new leaders, rebalances and faults among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.history import (
    FAIL,
    INFO,
    OK,
    Assigned,
    Claim,
    Commit,
    Committed,
    Event,
    Fault,
    Final,
    History,
    Poll,
    Send,
    Stable,
    Surprise,
    Transaction,
    Unanswered,
)

KEYS = ("a-0", "a-1", "b-0", "b-1")
GROUP = "group"
NODES = (1, 2, 3)


@dataclass
class _World:
    rng: random.Random
    now: float = 0.0
    value: int = 0
    logs: dict[str, list[int]] = field(default_factory=lambda: {key: [] for key in KEYS})
    epochs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KEYS, 0))
    leaders: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KEYS, 1))
    sequences: dict[tuple[int, str], int] = field(default_factory=dict)
    positions: dict[tuple[str, int, str], int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    generation: int = 0
    owner: dict[str, str] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    transactions: int = 0
    aborted: set[int] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)

    def tick(self) -> tuple[float, float]:
        begin = self.now
        self.now += self.rng.uniform(0.01, 0.1)
        return begin, self.now


def clean_history(seed: int, steps: int = 600) -> History:
    """A history in which nothing is wrong."""
    world = _World(random.Random(seed))
    _rebalance(world)
    steps_of = (_send, _send, _send, _poll, _poll, _poll, _commit, _look_up, _metadata, _odd)
    steps_of += (_transaction, _transaction, _poll_committed, _poll_committed)
    for _ in range(steps):
        world.rng.choice(steps_of)(world)
    for key, log in world.logs.items():
        records = list(enumerate(log))
        world.events.append(Final(key, records))
        kept = [(offset, value) for offset, value in records if value not in world.aborted]
        world.events.append(Final(key, kept, True))
        world.events.append(Stable(key, len(log), len(log)))
    return History(world.events)


def _send(world: _World) -> None:
    rng, key = world.rng, world.rng.choice(KEYS)
    producer = rng.randrange(3)
    sequence = world.sequences.get((producer, key), 0)
    world.value += 1
    log = world.logs[key]
    outcome = rng.choices((OK, FAIL, INFO), (8, 1, 1))[0]
    offset: int | None = None
    if outcome == OK or (outcome == INFO and rng.random() < 0.5):
        log.append(world.value)
        offset = len(log) - 1
    world.sequences[producer, key] = sequence + 1
    told = offset if outcome == OK and rng.random() < 0.9 else None  # DUPLICATE_SEQUENCE: unknown
    error = {OK: "", FAIL: "NOT_ENOUGH_REPLICAS", INFO: "timeout"}[outcome]
    t0, t1 = world.tick()
    node = world.leaders[key]
    world.events.append(
        Send(
            f"p{producer}", producer, key, sequence, world.value, outcome, told, node, t0, t1, error
        )
    )


def _poll(world: _World) -> None:
    rng, key = world.rng, world.rng.choice(KEYS)
    worker = f"c{rng.randrange(3)}"
    log = world.logs[key]
    session = world.sessions.setdefault(worker, 0)
    if rng.random() < 0.05:
        session = world.sessions[worker] = session + 1
    place = (worker, session, key)
    position = world.positions.get(place, rng.randrange(len(log) + 1))
    until = min(len(log), position + rng.randrange(8))
    world.positions[place] = until
    records = [(offset, log[offset]) for offset in range(position, until)]
    t0, t1 = world.tick()
    node, epoch = world.leaders[key], world.epochs[key]
    world.events.append(Poll(worker, session, key, node, epoch, records, len(log), 0, t0, t1))


def _poll_committed(world: _World, limits: dict[str, int] | None = None) -> None:
    """By a reader of its own, of what is stable: up to `limits` where a transaction is open."""
    rng, key = world.rng, world.rng.choice(KEYS)
    log = world.logs[key]
    stable = (limits or {}).get(key, len(log))
    place = ("r0", 0, key)
    position = world.positions.get(place, 0)
    until = max(position, min(stable, position + rng.randrange(8)))
    world.positions[place] = until
    kept = [o for o in range(position, until) if log[o] not in world.aborted]
    told = ([(offset, log[offset]) for offset in kept], len(log), 0, *world.tick(), stable, True)
    world.events.append(Poll(*place, world.leaders[key], world.epochs[key], *told))


def _transaction(world: _World) -> None:
    """Some values to some keys, a look at them by a reader while it is open, and its end."""
    rng = world.rng
    world.transactions += 1
    number, producer = world.transactions, 100 + rng.randrange(2)
    outcome = rng.choices((OK, FAIL, INFO), (7, 2, 1))[0]
    committed = outcome == OK or (outcome == INFO and rng.random() < 0.5)
    limits = {key: len(log) for key, log in world.logs.items()}
    begun = world.now
    sends: list[Send] = []
    for key in rng.choices(KEYS, k=rng.randrange(1, 5)):
        world.value += 1
        (log := world.logs[key]).append(world.value)
        if not committed:
            world.aborted.add(world.value)
        t0, t1 = world.tick()
        offset = len(log) - 1 if outcome == OK else None
        where = (key, number * 10 + len(sends), world.value, outcome, offset, world.leaders[key])
        sends.append(Send(f"x{producer}", producer, *where, t0, t1, transaction=number))
    _poll_committed(world, limits)
    ending = -1.0 if outcome == FAIL else world.tick()[0]
    _, t1 = world.tick()
    world.events += sends
    world.events.append(
        Transaction(f"x{producer}", number, producer, 0, outcome, begun, ending, t1)
    )


def _rebalance(world: _World) -> None:
    world.generation += 1
    world.tick()
    members = [f"m{n}" for n in range(world.rng.randrange(1, 4))]
    world.owner = {key: world.rng.choice(members) for key in KEYS}
    for member in members:
        keys = [key for key in KEYS if world.owner[key] == member]
        world.events.append(Assigned(GROUP, world.generation, member, keys, world.now))


def _commit(world: _World) -> None:
    if world.rng.random() < 0.1:
        _rebalance(world)
    key = world.rng.choice(KEYS)
    before = world.committed.get(key, 0)
    offset = min(len(world.logs[key]), before + world.rng.randrange(5))
    outcome = world.rng.choices((OK, FAIL, INFO), (8, 1, 1))[0]
    if outcome == OK:
        world.committed[key] = offset
    t0, t1 = world.tick()
    world.events.append(
        Commit(GROUP, world.generation, world.owner[key], key, offset, outcome, t0, t1)
    )


def _look_up(world: _World) -> None:
    key = world.rng.choice(KEYS)
    t0, t1 = world.tick()
    world.events.append(Committed(GROUP, key, world.committed.get(key, -1), t0, t1))


def _metadata(world: _World) -> None:
    rng, key = world.rng, world.rng.choice(KEYS)
    if rng.random() < 0.2:
        world.epochs[key] += 1
        world.leaders[key] = rng.choice(NODES)
    world.tick()
    leader = world.leaders[key] if rng.random() < 0.9 else -1
    source = f"node {rng.choice(NODES)}"
    world.events.append(Claim(key, world.epochs[key], leader, source, world.now))
    world.events.append(Claim("quorum", 7, 2, source, world.now))


def _odd(world: _World) -> None:
    """Faults, and what they excuse."""
    begin = world.now
    if world.rng.random() < 0.15:
        world.now += 6
        world.events.append(Fault("pause", [2], True, begin, world.now))
        world.events.append(Unanswered("c1", 2, "FETCH", begin, world.now))
    elif world.rng.random() < 0.1:
        world.now += 40
        world.events.append(Fault("kill-all", [1, 2, 3], False, begin, world.now - 5))


# --- what is planted -----------------------------------------------------------------------------


def _pick(history: History, rng: random.Random, kind: type, wanted: Callable[..., bool]) -> int:
    found = [i for i, e in enumerate(history.events) if isinstance(e, kind) and wanted(e)]
    return rng.choice(found)


def _without_value(history: History, value: int) -> None:
    for index, event in enumerate(history.events):
        if isinstance(event, Final):
            kept = [record for record in event.records if record[1] != value]
            history.events[index] = event._replace(records=kept)


def _inconsistent(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: poll.records)
    poll = history.events[index]
    assert isinstance(poll, Poll)
    sends = [send for send in history.of(Send) if send.outcome == INFO]
    changed = [*poll.records]
    changed[-1] = (changed[-1][0], rng.choice(sends).value)
    history.events[index] = poll._replace(records=changed)


def _duplicate(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Final, lambda final: len(final.records) > 2)
    final = history.events[index]
    assert isinstance(final, Final)
    again = rng.choice(final.records)[1]
    history.events[index] = final._replace(
        records=[*final.records, (final.records[-1][0] + 1, again)]
    )


def _lost(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Send, lambda send: send.outcome == OK)
    send = history.events[index]
    assert isinstance(send, Send)
    _without_value(history, send.value)


def _phantom(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Final, lambda final: final.records)
    final = history.events[index]
    assert isinstance(final, Final)
    failed = [
        s.value
        for s in history.of(Send)
        if s.outcome == FAIL and s.key == final.key and s.transaction < 0
    ]
    value = rng.choice([*failed, 10**9])
    history.events[index] = final._replace(
        records=[*final.records, (final.records[-1][0] + 1, value)]
    )


def _poll_skip(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: len(poll.records) > 2)
    poll = history.events[index]
    assert isinstance(poll, Poll)
    gone = rng.randrange(1, len(poll.records) - 1)
    kept = [*poll.records[:gone], *poll.records[gone + 1 :]]
    history.events[index] = poll._replace(records=kept)


def _poll_again(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: poll.records)
    history.events.insert(index + 1, history.events[index])


def _send_back(history: History, rng: random.Random) -> None:
    sends = [s for s in history.of(Send) if s.offset is not None and s.transaction < 0]
    first = rng.choice([s for s in sends if s.sequence == 0])
    later = [s for s in sends if (s.producer, s.key) == (first.producer, first.key)][1:]
    other = rng.choice(later)
    one, two = history.events.index(first), history.events.index(other)
    history.events[one] = first._replace(sequence=other.sequence)
    history.events[two] = other._replace(sequence=first.sequence)


def _above(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: poll.records)
    poll = history.events[index]
    assert isinstance(poll, Poll)
    history.events[index] = poll._replace(high_watermark=poll.records[-1][0], epoch=-1)


def _watermark_back(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: poll.high_watermark > 0)
    poll = history.events[index]
    assert isinstance(poll, Poll)
    back = poll._replace(records=[], high_watermark=rng.randrange(poll.high_watermark))
    history.events.insert(index + 1, back)


def _log_start_back(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Poll, lambda poll: True)
    poll = history.events[index]
    assert isinstance(poll, Poll)
    moved = poll._replace(records=[], log_start=5)
    history.events[index : index + 1] = [moved, moved._replace(log_start=4), poll]


def _two_owners(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Assigned, lambda event: event.keys)
    event = history.events[index]
    assert isinstance(event, Assigned)
    history.events.insert(index + 1, event._replace(member="thief", keys=[event.keys[0]]))


def _lost_commit(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Commit, lambda e: e.outcome == OK and e.offset > 0)
    commit = history.events[index]
    assert isinstance(commit, Commit)
    offset = rng.choice((-1, 0, commit.offset - 1))
    late = max(event.t1 for event in history.of(Commit)) + 1
    history.add(Committed(commit.group, commit.key, offset, late, late + 0.1))


def _stale_commit(history: History, rng: random.Random) -> None:
    last = [commit for commit in history.of(Commit) if commit.outcome == OK][-1]
    at = last.t1 + rng.random() + 0.01
    history.add(last._replace(generation=last.generation - 1, t0=at, t1=at + 0.1))


def _two_leaders(history: History, rng: random.Random) -> None:
    index = _pick(history, rng, Claim, lambda claim: claim.leader > 0)
    claim = history.events[index]
    assert isinstance(claim, Claim)
    history.add(claim._replace(leader=claim.leader % 3 + 1, source="planted"))


def _surprise(history: History, rng: random.Random) -> None:
    history.add(Surprise("p1", KEYS[0], "OUT_OF_ORDER_SEQUENCE_NUMBER", rng.random()))


def _unanswered(history: History, rng: random.Random) -> None:
    history.add(Unanswered("p1", 3, "PRODUCE", -10.0, -1.0))


def _no_progress(history: History, rng: random.Random) -> None:
    end = max(send.t1 for send in history.of(Send))
    away = max((fault.t1 for fault in history.of(Fault)), default=0.0) + 15
    last = [send for send in history.of(Send) if send.outcome == OK][-1]
    late = max(end, away) + 21 + rng.random()
    if rng.random() < 0.5:
        _with_final(history, last, late)
    else:  # nothing is acknowledged until the end
        history.add(last._replace(outcome=INFO, value=10**9, sequence=10**6, t1=late))


def _with_final(history: History, send: Send, late: float) -> None:
    """One more value of the same producer, acknowledged after a long silence."""
    value = 10**9 + 1
    index = next(
        i for i, e in enumerate(history.events) if isinstance(e, Final) and e.key == send.key
    )
    final = history.events[index]
    assert isinstance(final, Final)
    offset = final.records[-1][0] + 1 if final.records else 0
    history.events[index] = final._replace(records=[*final.records, (offset, value)])
    history.add(send._replace(value=value, sequence=10**6, offset=offset, t0=late - 0.1, t1=late))


PLANTS: dict[str, Callable[[History, random.Random], None]] = {
    "inconsistent-offset": _inconsistent,
    "duplicate": _duplicate,
    "lost-write": _lost,
    "phantom": _phantom,
    "poll-skip": _poll_skip,
    "nonmonotonic-poll": _poll_again,
    "nonmonotonic-send": _send_back,
    "above-high-watermark": _above,
    "high-watermark-back": _watermark_back,
    "log-start-back": _log_start_back,
    "two-owners": _two_owners,
    "lost-commit": _lost_commit,
    "stale-commit": _stale_commit,
    "two-leaders": _two_leaders,
    "surprise": _surprise,
    "unanswered": _unanswered,
    "no-progress": _no_progress,
}
"""Kind of anomaly → what plants one."""
