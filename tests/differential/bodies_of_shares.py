"""Bodies of the requests to the share coordinator, as brokers send them.

See `bodies_of_data` for the form.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.differential import values
from tests.differential.bodies_of_data import Made, partitions, topic_id, topic_names
from tests.differential.sequence import Body

EPOCHS = (0, 0, 1, 1, 2, 5, -1)
OFFSETS = (0, 0, 3, 5, -1)


def _states(rng: random.Random, item: Callable[[], Body]) -> Body:
    """A request for the partitions of one or two topics."""
    topics = [
        {
            "topic_id": topic_id(name),
            "partitions": [{"partition": number, **item()} for number in partitions(rng)],
        }
        for name in topic_names(rng)
    ]
    return {"group_id": rng.choice(values.GROUPS), "topics": topics}


def _batch(rng: random.Random) -> Body:
    first = rng.randint(0, 9)
    return {
        "first_offset": first,
        "last_offset": first + rng.randint(0, 4),
        "delivery_state": rng.choice((0, 2, 3, 4)),
        "delivery_count": rng.randint(1, 4),
    }


def initialize(rng: random.Random, version: int) -> Made:
    return _states(
        rng, lambda: {"state_epoch": rng.choice(EPOCHS), "start_offset": rng.choice(OFFSETS)}
    ), None


def read(rng: random.Random, version: int) -> Made:
    return _states(rng, lambda: {"leader_epoch": rng.choice(EPOCHS)}), None


def write(rng: random.Random, version: int) -> Made:
    def item() -> Body:
        body: Body = {
            "state_epoch": rng.choice(EPOCHS),
            "leader_epoch": rng.choice(EPOCHS),
            "start_offset": rng.choice(OFFSETS),
            "state_batches": [_batch(rng) for _ in range(rng.randint(0, 3))],
        }
        return {**body, "delivery_complete_count": rng.randint(0, 5)} if version else body

    return _states(rng, item), None


def delete(rng: random.Random, version: int) -> Made:
    return _states(rng, dict), None


def summarize(rng: random.Random, version: int) -> Made:
    return _states(rng, lambda: {"leader_epoch": rng.choice(EPOCHS)}), None


BODIES = {
    "INITIALIZE_SHARE_GROUP_STATE": initialize,
    "READ_SHARE_GROUP_STATE": read,
    "WRITE_SHARE_GROUP_STATE": write,
    "DELETE_SHARE_GROUP_STATE": delete,
    "READ_SHARE_GROUP_STATE_SUMMARY": summarize,
}
