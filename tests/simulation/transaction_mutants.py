"""Transactions that are wrong on purpose: each mutant breaks one promise of exactly once.

As in `cluster_mutants.py`; it runs on three brokers, in seeds that have transactions, or in a story
that is told on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from broker.groups.group_shard import GroupShard
from broker.node.transactions import NodeTransactions
from broker.transactions import producer_identity, transaction_decisions
from broker.transactions.marker_sender import MarkerSender, _DelayedMarkers
from broker.transactions.transaction_shard import TransactionShard
from protocol.errors import ErrorCode
from storage.log import aborted_lookup
from storage.log.unified_log import UnifiedLog
from tests.simulation.cluster_mutants import Story
from tests.simulation.mutants import Mutant, table_of
from tests.simulation.plans import brokers_of, is_transactional
from tests.simulation.simulation import Failure, Simulation
from tests.simulation.transaction_stories import (
    coordinator_dies_alone_with_its_decision,
    group_moves_in_a_transaction,
    late_produce,
    leader_dies_before_its_marker,
    second_producer,
)


@contextmanager
def ends_ignore_epochs() -> Iterator[None]:
    """EndTxn is taken from whoever has the producer id."""
    real = producer_identity.end_event

    def end_event(metadata: Any, identity: Any, committed: bool, version: int) -> Any:
        return real(metadata, (identity[0], metadata.producer_epoch), committed, version)

    with patch.object(transaction_decisions, "end_event", end_event):
        yield


@contextmanager
def markers_before_the_decision_is_replicated() -> Iterator[None]:
    """They leave when it is appended."""

    real = TransactionShard._decide

    def decide(self: TransactionShard, name: str, *arguments: Any, **options: Any) -> Any:
        follows = options.pop("then", None)

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE and follows is not None:
                follows(self.transactions[name])

        return real(self, name, *arguments, **{"written": written, **options})

    with patch.object(TransactionShard, "_decide", decide):
        yield


@contextmanager
def readers_do_not_wait_for_the_end() -> Iterator[None]:
    """The last stable offset is the high watermark, whatever is open."""
    with patch.object(UnifiedLog, "last_stable_offset", property(lambda log: log.high_watermark)):
        yield


@contextmanager
def nobody_is_told_what_was_aborted() -> Iterator[None]:
    """The list of aborted transactions is always empty."""
    with patch.object(aborted_lookup, "collect_aborted", lambda log, start_offset, end_offset: []):
        yield


@contextmanager
def nothing_is_verified() -> Iterator[None]:
    """A leader takes a transaction's first batch without asking the coordinator."""
    real = NodeTransactions.add_or_verify

    def add_or_verify(self: NodeTransactions, *arguments: Any) -> None:
        *_, operation, done = arguments
        if operation.supports_epoch_bump:
            real(self, *arguments)
        else:
            done({})

    with patch.object(NodeTransactions, "add_or_verify", add_or_verify):
        yield


@contextmanager
def markers_are_sent_once() -> Iterator[None]:
    """A marker that could not be written is not sent again, wherever the leader is now."""
    with (
        patch.object(_DelayedMarkers, "add", lambda self, pending, partitions: None),
        patch.object(MarkerSender, "metadata_changed", lambda self: None),
    ):
        yield


@contextmanager
def pending_offsets_are_dropped() -> Iterator[None]:
    """A group's new coordinator does not know of offsets whose transactions are open."""
    real = GroupShard.on_loaded

    def on_loaded(self: GroupShard) -> None:
        self.offsets._pending = type(self.offsets._pending)()
        real(self)

    with patch.object(GroupShard, "on_loaded", on_loaded):
        yield


def a_late_produce(seed: int) -> None:
    late_produce(seed, 1, next_one=False)


def a_coordinator_that_dies(seed: int) -> None:
    coordinator_dies_alone_with_its_decision(seed, 1 + seed % 2)


def a_second_producer(seed: int) -> None:
    second_producer(seed, 1 + seed % 2)


def a_leader_that_dies(seed: int) -> None:
    leader_dies_before_its_marker(seed, 1 + seed % 2)


def a_group_that_moves(seed: int) -> None:
    group_moves_in_a_transaction(seed, 1 + seed % 2)


SEEDS_MAX = 200
TRANSACTION_MUTANTS: dict[str, tuple[Mutant, tuple[str, ...], Story | None]] = {
    "EndTxn ignores the epoch": (ends_ignore_epochs, ("I11",), a_second_producer),
    "markers before PREPARE is replicated": (
        markers_before_the_decision_is_replicated,
        ("I8", "I9"),
        a_coordinator_that_dies,
    ),
    "LSO ignores open transactions": (readers_do_not_wait_for_the_end, ("I9",), None),
    "aborted list left out": (nobody_is_told_what_was_aborted, ("I9",), None),
    "verification skipped": (nothing_is_verified, ("I10",), a_late_produce),
    "marker not sent again": (markers_are_sent_once, ("I10", "I20"), a_leader_that_dies),
    "pending offsets dropped": (pending_offsets_are_dropped, ("I8",), a_group_that_moves),
}
"""Mutant → how to make it, the invariants that catch it, and the story in which; else by chance."""


def transaction_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _, story = TRANSACTION_MUTANTS[name]
    tell: Callable[[int], Any] = story or _by_chance
    for seed in range(SEEDS_MAX):
        if story is None and not is_transactional(seed):
            continue
        try:
            with make():
                tell(seed)
        except Failure as failure:
            return failure
    return None


def _by_chance(seed: int) -> None:
    Simulation(seed, brokers=brokers_of(seed)).run()


def transaction_table() -> list[str]:
    """As `mutants.table`."""
    return table_of(TRANSACTION_MUTANTS, transaction_failure)
