"""What the page asks about topics, and wants changed.

The list comes from one answer of the cluster, and what takes longer after it: sizes and rates from
the sampler of the overview, groups of one topic.
"""

from __future__ import annotations

from client.live.looking import seen_topics
from console.endpoints import Ask, Console, get, post
from console.overview.sampler import Sampler
from console.topics.changes import configure, grow, make, remove
from console.topics.described import configs, described, readers, row


def _list(console: Console, _ask: Ask) -> object:
    with console.cluster() as cluster:
        topics = seen_topics(cluster, internal=True)
    return {"topics": [row(topics[name]) for name in sorted(topics)]}


def _live(console: Console, ask: Ask) -> object:
    """By topic, all or one: records, bytes of the leaders, records and bytes a second (None: not
    yet known)."""
    rates = console.state(Sampler).now()
    wanted = ask.text("topic", "")
    return {
        "at": rates.looked_at,
        "topics": {
            one.topic: [one.records, one.bytes, one.records_per_s, one.bytes_per_s]
            for one in rates.topics
            if not wanted or one.topic == wanted
        },
    }


def _one(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return described(cluster, ask.text("topic"))


def _configs(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return configs(cluster, ask.text("topic"))


def _readers(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return readers(cluster, ask.text("topic"))


def _create(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return make(cluster, ask.body)


def _delete(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return remove(cluster, ask.text("topic"))


def _grow(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return grow(cluster, ask.text("topic"), ask.body)


def _configure(console: Console, ask: Ask) -> object:
    with console.cluster() as cluster:
        return configure(cluster, ask.text("topic"), ask.body)


_TOPIC = "/api/topics/{topic}"
ENDPOINTS = (
    get("/api/topics", _list),
    get("/api/live-topics", _live),
    get(_TOPIC, _one),
    get(f"{_TOPIC}/configs", _configs),
    get(f"{_TOPIC}/groups", _readers),
    post("/api/topics", _create),
    post(f"{_TOPIC}/delete", _delete),
    post(f"{_TOPIC}/partitions", _grow),
    post(f"{_TOPIC}/configs", _configure),
)
