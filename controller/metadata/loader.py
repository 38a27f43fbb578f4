"""The loader, which turns committed records into images and calls the metadata listeners.

Owns: the newest committed image of this node. Listeners are called in the order in which they were
added, once for each change, with the delta and the new image. Between the records that begin and
end a metadata transaction (KIP-868) no change is published. If a listener raises, that is logged
and counted, and the other listeners are still called; only AssertionError, for a broken invariant,
is raised. A listener with much work returns it as steps: they run in slices, and its work for the
next change waits behind them.

Never: sees a record that is not committed, and never decides.

Follows Kafka's `MetadataLoader` and `MetadataPublisher`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from controller.metadata.acl import AclsImage
from controller.metadata.delegation_token import Tokens
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ScramImage
from controller.metadata.records import MetadataRecord, MetadataRecordError
from ground.ordered_work import OrderedWork
from ground.sliced_work import SlicedWork, Steps, each, in_one_go
from protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

logger = logging.getLogger(f"ottla.{__name__}")

MetadataListener = Callable[[MetadataDelta, MetadataImage], Steps[None] | None]
"""A callback for each change; it returns the steps of its remaining work, or None."""


class CommittedBatch(NamedTuple):
    """A committed batch of the metadata log."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp_ms: int
    records: Sequence[MetadataRecord]
    """The records; empty for control batches, which still move the offset."""


class MetadataLoader:
    """The committed metadata of this node, and its listeners."""

    def __init__(self, sliced: SlicedWork | None = None) -> None:
        """Start with an empty image. Without `sliced`, the work of listeners runs without pause."""
        self.image = MetadataImage()
        self.apply_errors = 0
        """The number of times a listener raised (Kafka's `metadata-apply-error-count`)."""
        self._sliced = sliced
        self._listeners: list[tuple[MetadataListener, OrderedWork]] = []
        self._transaction: MetadataDelta | None = None

    @property
    def in_transaction(self) -> bool:
        """Whether a metadata transaction is open, so the image lacks its records."""
        return self._transaction is not None

    def add_listener(self, *listeners: MetadataListener) -> None:
        """Call each `listener(delta, image)` for every change from now on.

        If there is an image already, each listener gets it at once, as one change from the empty
        image, and its work is done before this returns. Raises the error of a listener.
        """
        self._listeners += [(listener, OrderedWork(self._sliced)) for listener in listeners]
        if self.image.offset >= 0:
            delta = delta_between(MetadataImage(), self.image)
            for listener in listeners:
                steps = listener(delta, self.image)
                if steps is not None:
                    in_one_go(steps)

    def when_caught_up(self, done: Callable[[], None]) -> None:
        """Call `done()`, now or later, after the listeners have done all work for the changes so
        far. Several calls keep their order."""
        busy = [work for _, work in self._listeners if work.is_behind]
        working = len(busy)

        def caught_up(_result: object, _error: Exception | None) -> None:
            """Call `done` if this was the last listener whose work was waited for. Its errors are
            ignored here."""
            nonlocal working
            working -= 1
            if not working:
                done()

        for work in busy:
            work.take(each(_ignore, (), 1), caught_up)
        if not busy:
            done()

    def load_snapshot(self, image: MetadataImage) -> None:
        """Replace the image by a snapshot's `image`, and call the listeners with the difference. An
        open metadata transaction is dropped."""
        self._transaction = None
        delta = delta_between(self.image, image)
        self.image = image
        self._publish(delta)

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Apply a committed batch to `image`, and call the listeners if it changes the metadata.

        While a metadata transaction is open, only the image's offset, epoch and timestamp change.
        Raises AssertionError if the batch begins at or before the image's offset, and
        MetadataRecordError if a record cannot be replayed.
        """
        if batch.base_offset <= self.image.offset:
            raise AssertionError(
                f"batch at {batch.base_offset} came after offset {self.image.offset}"
            )
        delta = self._transaction or MetadataDelta(self.image)
        for record in batch.records:
            delta = self._replay(delta, record)
        position = (batch.last_offset, batch.epoch, batch.timestamp_ms)
        if self._transaction is None:
            self.image = delta.apply(*position)
            self._publish(delta)
        else:
            # Only the position moves: an open transaction's changes are not published.
            self.image = MetadataDelta(self.image).apply(*position)

    def _replay(self, delta: MetadataDelta, record: MetadataRecord) -> MetadataDelta:
        """Add a record to `delta`, or begin or end a metadata transaction. Return the delta to go
        on with, an empty one after an abort. Raises MetadataRecordError."""
        if isinstance(record, BeginTransactionRecord):
            if self._transaction is not None:
                raise MetadataRecordError("a metadata transaction begins inside another")
            if not delta.is_empty:
                raise MetadataRecordError("a metadata transaction begins inside a batch")
            self._transaction = delta
        elif isinstance(record, EndTransactionRecord | AbortTransactionRecord):
            if self._transaction is None:
                raise MetadataRecordError("a metadata transaction ends that never began")
            self._transaction = None
            if isinstance(record, AbortTransactionRecord):
                return MetadataDelta(self.image)
        else:
            delta.replay(record)
        return delta

    def _publish(self, delta: MetadataDelta) -> None:
        """Call the listeners with a change, if it is not empty, and begin the steps that they
        return. An error of a listener is logged and counted, except AssertionError, which is
        raised."""
        if delta.is_empty:
            return
        for listener, work in self._listeners:
            try:
                steps = listener(delta, self.image)
                if steps is not None:
                    work.take(steps, self._work_done)
            except AssertionError:
                raise
            except Exception as error:  # noqa: BLE001  the other listeners must be called too
                self._work_done(None, error)

    def _work_done(self, _result: object, error: Exception | None) -> None:
        """Log an error of a listener at ERROR and add it to `apply_errors`; do nothing if `error`
        is None."""
        if error is None:
            return
        self.apply_errors += 1
        offset = self.image.offset
        logger.error("a listener failed on the metadata up to offset %d", offset, exc_info=error)


def delta_between(before: MetadataImage, after: MetadataImage) -> MetadataDelta:
    """Return the changes from `before` to `after`, for listeners. All controllers of `after` count
    as changed, and the next producer id, which no listener reads, is left out."""
    delta = MetadataDelta(before)
    delta.topics.replace_all(after.topics)
    for broker_id in before.brokers:
        if broker_id not in after.brokers:
            delta.changed_brokers[broker_id] = None
    for broker_id, broker in after.brokers.items():
        if before.brokers.get(broker_id) != broker:
            delta.changed_brokers[broker_id] = broker
    delta.changed_controllers.update(dict.fromkeys(before.controllers))
    delta.changed_controllers.update(after.controllers)
    for key in (*before.configs, *after.configs):
        now = after.configs.get(key, {})
        if before.configs.get(key, {}) != now:
            delta.changed_configs[key] = dict(now)
    for name in (*before.features, *after.features):
        if before.features.get(name, 0) != after.features.get(name, 0):
            delta.changed_features[name] = after.features.get(name, 0)
    _note_changed_users(before.scram, after.scram, delta)
    _note_changed_acls(before.acls, after.acls, delta)
    _note_changed_tokens(before.tokens, after.tokens, delta)
    _note_changed_quotas(before, after, delta)
    return delta


def _note_changed_users(before: ScramImage, after: ScramImage, delta: MetadataDelta) -> None:
    """Add to `delta` all present credentials of each user that differs between two images; none for
    a removed user."""
    for user in (*before.users, *after.users):
        credentials = after.users.get(user, {})
        if before.users.get(user, {}) != credentials:
            delta.changed_scram[user] = dict(credentials)


def _note_changed_acls(before: AclsImage, after: AclsImage, delta: MetadataDelta) -> None:
    """Add to `delta` the ACLs that differ between two images, None for removed ones."""
    if before is after:
        return
    for acl_id in (*before.by_id, *after.by_id):
        if before.by_id.get(acl_id) != after.by_id.get(acl_id):
            delta.changed_acls[acl_id] = after.by_id.get(acl_id)


def _note_changed_tokens(before: Tokens, after: Tokens, delta: MetadataDelta) -> None:
    """Add to `delta` the tokens that differ between two images, None for removed ones."""
    if before is after:
        return
    for token_id in (*before, *after):
        if before.get(token_id) != after.get(token_id):
            delta.changed_tokens[token_id] = after.get(token_id)


def _note_changed_quotas(before: MetadataImage, after: MetadataImage, delta: MetadataDelta) -> None:
    """Add to `delta` all present quotas of each entity that differs between two images; none for a
    removed entity."""
    for entity in (*before.client_quotas, *after.client_quotas):
        values = after.client_quotas.get(entity, {})
        if before.client_quotas.get(entity, {}) != values:
            delta.changed_quotas[entity] = dict(values)


def _ignore(_item: object) -> None:
    """Do nothing: a step without work."""
