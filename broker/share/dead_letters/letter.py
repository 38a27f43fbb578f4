"""A letter on its way to the dead-letter topic: the records of a group that are given up together.

Owns how far a letter is written, and the number of attempts since the last success. Never decides
what happens next (`dead_letter_writer.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from broker.share.dead_letters.letter_batch import LetterHeaders
from broker.share.state.share_log import SharePartitionKey

NOT_TRIED = -1


class Letter:
    """The records from offset `next` to `last` of a share-partition."""

    __slots__ = ("attempts", "done", "first", "headers", "key", "last", "next", "topic", "tried")

    def __init__(
        self, key: SharePartitionKey, first: int, last: int, topic: str, headers: LetterHeaders
    ) -> None:
        """Create a letter of which nothing is written. `topic` is the name of the original
        topic."""
        self.key = key
        self.first = first
        self.last = last
        self.topic = topic
        self.headers = headers
        self.next = first
        """The first offset that is not written yet."""
        self.attempts = 0
        """The number of failed attempts since the last success."""
        self.tried = NOT_TRIED
        """The id of the broker to which the last attempt went."""
        self.done: list[Callable[[], None]] = []
        """The callbacks for when the letter is written, or never will be."""

    @property
    def id(self) -> tuple[SharePartitionKey, int, int]:
        """The share-partition and the offsets, which no other letter in progress has."""
        return self.key, self.first, self.last

    @property
    def is_written(self) -> bool:
        """True if all records are in the dead-letter topic."""
        return self.next > self.last

    def try_at(self, leader_id: int) -> None:
        """Note that the next attempt goes to this broker."""
        self.tried = leader_id

    def failed(self) -> int:
        """Count a failed attempt; return the number of them since the last success."""
        self.attempts += 1
        return self.attempts

    def succeeded(self) -> None:
        """Reset the number of failed attempts."""
        self.attempts = 0

    def written(self, last: int) -> None:
        """Note that the offsets up to `last` are written."""
        self.next = last + 1
        self.succeeded()
