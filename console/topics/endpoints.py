"""The endpoints about topics: the list, a topic, its groups and configs, and changes.

The list comes from one answer of the cluster. The page asks for the rest apart, because it takes
longer: sizes and rates, from the overview's sampler, and the groups of a topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from client.live.looking import seen_topics
from console.endpoints import Ask, Console, get, post
from console.overview.sampler import Sampler
from console.topics.changes import (
    ChangedTopic,
    GrownTopic,
    MadeTopic,
    grow,
    make,
    remove,
)
from console.topics.described import (
    Topic,
    TopicConfig,
    TopicReaders,
    TopicRow,
    configs,
    described,
    readers,
    row,
)


@dataclass(frozen=True, slots=True)
class TopicList:
    """The rows of all topics that the login may see."""

    topics: list[TopicRow]


@dataclass(frozen=True, slots=True)
class LiveTopics:
    """The records, the bytes of the leaders, and both per second, by topic; None: not known."""

    at: float | None
    topics: dict[str, tuple[int, int | None, float | None, float | None]]


def _list(console: Console, _ask: Ask) -> TopicList:
    with console.cluster() as cluster:
        topics = seen_topics(cluster, internal=True)
    return TopicList([row(topics[name]) for name in sorted(topics)])


def _live(console: Console, ask: Ask) -> LiveTopics:
    """Return the rates of all topics, or of one."""
    rates = console.state(Sampler).now()
    wanted = ask.text("topic", "")
    return LiveTopics(
        rates.looked_at,
        {
            rate.topic: (rate.records, rate.bytes, rate.records_per_s, rate.bytes_per_s)
            for rate in rates.topics
            if not wanted or rate.topic == wanted
        },
    )


def _one(console: Console, ask: Ask) -> Topic:
    with console.cluster() as cluster:
        return described(cluster, ask.text("topic"))


def _configs(console: Console, ask: Ask) -> list[TopicConfig]:
    with console.cluster() as cluster:
        return configs(cluster, ask.text("topic"))


def _readers(console: Console, ask: Ask) -> TopicReaders:
    with console.cluster() as cluster:
        return readers(cluster, ask.text("topic"))


def _create(console: Console, ask: Ask) -> MadeTopic:
    with console.cluster() as cluster:
        return make(cluster, ask.body)


def _delete(console: Console, ask: Ask) -> ChangedTopic:
    with console.cluster() as cluster:
        return remove(cluster, ask.text("topic"))


def _grow(console: Console, ask: Ask) -> GrownTopic:
    with console.cluster() as cluster:
        return grow(cluster, ask.text("topic"), ask.body)


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
)
