"""Invariants of transactions: I8 to I11 in README.md.

`TransactionLedger` is what they share: every transaction that anybody began, by its values, its
offsets and its EndTxn, and what became of it by the rules in `transactions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import OFFSETS_TOPIC
from simulation.network.sim_network import Exchange
from tests.simulation.consumers import Fetching
from tests.simulation.data_invariants import fetched, payload, where
from tests.simulation.group_members import Key, Reading
from tests.simulation.producers import SETTLED, Sending
from tests.simulation.transactions import UNDECIDED, Ending, Fencing, Moving, Place, Txn

READ_COMMITTED = 1
NOTHING_COMMITTED = -1


class AllOrNothing(Invariant):
    """I8: a transaction is there whole or not at all, across partitions and offsets.

    I9: nothing is read as committed of a transaction that was aborted, or that nobody has asked to
    commit yet.
    """

    name = "I8"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.by_value: dict[bytes, Txn] = {}
        self.with_offsets: dict[tuple[str, Key], dict[Txn, None]] = {}
        self._read: dict[Exchange, None] = {}

    # --- outcomes -------------------------------------------------------------------------------

    def sent(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Sending) and about.batch.txn is not None:
            for value in about.batch.values:
                self.by_value[payload(value)] = about.batch.txn
        elif isinstance(about, Ending) and about.commit:
            about.txn.unsure += 1
        elif isinstance(about, Moving):
            for key in about.txn.offsets:
                self.with_offsets.setdefault(key, {})[about.txn] = None

    def received(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Ending):
            self._ended(about.txn, about.commit, ErrorCode(exchange.response.error_code))
        elif isinstance(about, Fetching) and about.isolation == READ_COMMITTED:
            for one in fetched(exchange):
                for _, value in one.committed():
                    self.read(payload(value), f"by {exchange.client} in {where(one.place)}")
        elif isinstance(about, Reading) and about.stable:
            self._positions(exchange)

    def _ended(self, txn: Txn, commit: bool, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            if commit:
                txn.committed = True
                txn.committed_ms = min(txn.committed_ms, self.world.now_ms)
            else:
                txn.aborted = True
            if txn.aborted and txn.is_committed:
                raise self.broken(f"{txn.name} was committed, and EndTxn(abort) succeeded")
        elif commit and error not in UNDECIDED:
            txn.unsure -= 1
            self._refuted(txn)

    def _refuted(self, txn: Txn) -> None:
        if txn.seen is not None and not txn.may_be_committed:
            raise self.broken(f"{txn.seen!r} was read, and {txn.name} was not committed")

    # --- what is read -----------------------------------------------------------------------------

    def read(self, value: bytes, how: str) -> None:
        """Somebody was given `value` as committed."""
        txn = self.by_value.get(value)
        if txn is None:
            return
        if not txn.may_be_committed:
            why = "was aborted" if txn.aborted else "is open, or was refused"
            self.name = "I9"
            raise self.broken(f"{value!r} was read {how}, and {txn.name} {why}")
        if txn.aborted:
            raise self.broken(
                f"{value!r} was read {how}, and EndTxn(abort) of {txn.name} succeeded"
            )
        txn.seen = value

    def answered(self, exchange: Exchange) -> None:
        """Only a coordinator that was not replaced when it spoke tells positions that count."""
        about = exchange.about
        if isinstance(about, Reading) and about.stable and not self._is_old_news(exchange):
            self._read[exchange] = None

    def _is_old_news(self, exchange: Exchange) -> bool:
        view = self.promises.view
        return view is not None and view.is_replaced(view.at(exchange.node), OFFSETS_TOPIC, 0)

    def _positions(self, exchange: Exchange) -> None:
        if exchange not in self._read:
            return
        told = exchange.response.groups[0] if exchange.version >= 8 else exchange.response
        if told.error_code:
            return
        for topic in told.topics:
            for one in topic.partitions:
                if not one.error_code:
                    key = (exchange.about.group, (topic.name, one.partition_index))
                    self.position(key, one.committed_offset, exchange.sent_ms)

    def position(self, key: tuple[str, Key], offset: int, asked_ms: float) -> None:
        """A group was told its position, which no open transaction may move.

        A copier goes on where the last committed transaction has left off: positions only grow.
        """
        known = self.with_offsets.get(key, {})
        moved = [one.offsets[key] for one in known if one.committed_ms <= asked_ms]
        least = max(moved, default=NOTHING_COMMITTED)
        possible = [one.offsets[key] for one in known if one.may_be_committed]
        if offset < least or offset not in (NOTHING_COMMITTED, *possible):
            raise self.broken(
                f"{key[0]} is told offset {offset} of {key[1]}, was moved to {least}, and can be "
                f"at {sorted(set(possible))}"
            )

    # --- the end ----------------------------------------------------------------------------------

    def at_end(self, final: Any) -> None:
        there: dict[bytes, None] = {}
        for place, read in final.partitions.items():
            for _, value in read.committed:
                self.read(payload(value), f"at the end in {where(place)}")
                there[payload(value)] = None
        for txn in dict.fromkeys(self.by_value.values()):
            missing = [one for one in txn.values if one not in there]
            if txn.is_committed and missing:
                why = "was acknowledged" if txn.committed else f"{txn.seen!r} was read"
                raise self.broken(f"{txn.name} lacks {missing}, and {why}")
        for key, offset in final.offsets.items():
            self._settled_position(key, offset)
        self._copies(final)

    def _settled_position(self, key: tuple[str, Key], offset: int) -> None:
        """The position is that of the last transaction whose values are there."""
        known = self.with_offsets.get(key, {})
        moved = [one.offsets[key] for one in known if one.is_committed]
        last = max(moved, default=NOTHING_COMMITTED)
        # One without values tells by its offset alone whether it was committed.
        mute = [one.offsets[key] for one in known if one.may_be_committed and not one.values]
        if offset != last and not (offset > last and offset in mute):
            raise self.broken(f"{key[0]} is at {offset} of {key[1]}, committed were {moved[-5:]}")

    def _copies(self, final: Any) -> None:
        """Each record below the position of a copier was copied once, in order; none above."""
        copies: dict[Place, list[int]] = {}
        for read in final.partitions.values():
            for _, value in read.committed:
                txn = self.by_value.get(payload(value))
                if txn is not None and payload(value) in txn.copied:
                    place, offset = txn.copied[payload(value)]
                    copies.setdefault(place, []).append(offset)
        for place, read in final.partitions.items():
            for key, position in final.offsets.items():
                topic, index = key[1]
                if (topic, index) != (read.topic, place[1]) or not self._is_copied(key):
                    continue
                wanted = [offset for offset, _ in read.committed if offset < position]
                found = copies.get(place, [])
                if found != wanted:
                    how = _difference(found, wanted)
                    raise self.broken(f"{topic}-{index} was copied up to {position} {how}")

    def _is_copied(self, key: tuple[str, Key]) -> bool:
        """Whether a copier moves this position, and not a test that tells a story."""
        return any(one.copied for one in self.with_offsets.get(key, ()))


def _difference(found: list[int], wanted: list[int]) -> str:
    missing = [one for one in wanted if one not in found]
    surplus = [one for one in found if one not in wanted]
    twice = sorted({one for one in found if found.count(one) > 1})
    order = "in" if sorted(found) == found else "out of"
    return f"without {missing[:5]}, with {surplus[:5]}, twice {twice[:5]}, {order} order"


class FencedHasNoEffect(Invariant):
    """I11: once somebody was given a newer epoch, nothing that an older one asks takes effect.

    An effect is one that is seen: an EndTxn that succeeds, an offset that is taken, a value that is
    read. What a broker began with before the newer epoch was told may end as it likes.
    """

    name = "I11"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._epochs: dict[tuple[str, int], int] = {}
        """The newest epoch that was told, of each (transactional id, producer id)."""
        self._late: dict[bytes, Txn] = {}
        """Values of which no batch arrived before its epoch was fenced."""

    def handled(self, exchange: Exchange) -> None:
        about = exchange.about
        if isinstance(about, Ending):
            about.txn.ended_in_time |= not self._is_fenced(about.txn)
        elif isinstance(about, Sending) and about.batch.txn is not None:
            batch = about.batch
            batch.in_time |= not self._is_fenced(about.batch.txn)
            for value in batch.values:
                if batch.in_time:
                    self._late.pop(payload(value), None)
                else:
                    self._late[payload(value)] = about.batch.txn

    def _is_fenced(self, txn: Txn) -> bool:
        newest = self._epochs.get((txn.transactional_id, txn.producer_id), -1)
        return txn.producer_epoch < newest

    def received(self, exchange: Exchange) -> None:
        about, response = exchange.about, exchange.response
        if isinstance(about, Fencing) and not response.error_code:
            key = (about.transactional_id, response.producer_id)
            self._epochs[key] = max(self._epochs.get(key, -1), response.producer_epoch)
        elif isinstance(about, Ending) and not response.error_code:
            if not about.txn.ended_in_time:
                raise self.broken(f"EndTxn of {about.txn.name} succeeded after it was fenced")
        elif isinstance(about, Sending) and about.batch.txn is not None:
            told = response.responses[0].partition_responses[0]
            if ErrorCode(told.error_code) in SETTLED:
                self._check(about.batch.values, f"taken by {exchange.node}")
        for one in fetched(exchange):
            self._check([value for _, value in one.records], f"read by {exchange.client}")

    def _check(self, values: list[bytes], how: str) -> None:
        for value in values:
            txn = self._late.get(payload(value))
            if txn is not None:
                raise self.broken(
                    f"{value!r} of {txn.name}, epoch {txn.producer_epoch}, was {how}; it arrived "
                    f"after epoch {self._epochs[(txn.transactional_id, txn.producer_id)]} was told"
                )

    def at_end(self, final: Any) -> None:
        for read in final.partitions.values():
            self._check([value for _, value in read.records], "read at the end")


def hanging(brokers: Iterable[SimBroker]) -> str | None:
    """A partition whose leader waits for the end of a transaction; None where there is none."""
    for broker in brokers:
        if broker.node is None or not broker.is_broker:
            continue
        for partition in broker.replicas.partitions():
            log = partition.log
            if partition.is_leader and log.last_stable_offset < log.log_end_offset:
                return (
                    f"{partition!r} on {broker.address} ends at {log.log_end_offset}, and is "
                    f"stable up to {log.last_stable_offset} only"
                )
    return None


class NothingHangs(Invariant):
    """I10: with no transaction under way, the last stable offset is the end of each log.

    Whoever heals waits until it is so (`hanging`); here it is held against what is read then.
    """

    name = "I10"

    def at_end(self, final: Any) -> None:
        for place, read in final.partitions.items():
            if read.stable_end < read.end:
                raise self.broken(
                    f"{where(place)} ends at {read.end}, and is stable up to {read.stable_end} only"
                )


TRANSACTION_INVARIANTS = (AllOrNothing, FencedHasNoEffect, NothingHangs)
