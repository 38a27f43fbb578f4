"""The partitions, places and search of a request for records.

A place is written as for `ottla consume`. Owns no connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.config.start_error import StartError
from client.cluster import ClusterClient, partitions_of
from client.core.offsets import READ_COMMITTED, READ_UNCOMMITTED
from client.offsets import list_offsets
from client.place_offsets import Span, offsets_at, spans
from client.places import Place, parse_place
from client.refusals import Leaderless
from console.endpoints import Ask, BadAsk
from console.messages.decoding.decoding import TopicDecoder
from console.messages.filtering.condition import Condition, condition_of
from console.messages.filtering.expressions import BadFilter
from console.messages.matching import PARTS, BadPattern, Matcher, matcher_of
from console.messages.paging import parse_cursor
from console.messages.record_matching import RecordMatcher
from protocol.messages.metadata import MetadataResponseTopic

LATEST = -1
PARTITIONS_MAX = 1_000
"""The number of partitions of a topic that a request without `partition` reads: the first."""

_NAMED_MAX = 3
_PARTITIONS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")


class Part(NamedTuple):
    """The offsets that each partition holds, and those of them that a request asks for.

    `unled`: the partitions of the request that have no leader, so that they cannot be read now.
    """

    topics: Mapping[str, MetadataResponseTopic]
    held: dict[int, Span]
    meant: dict[int, Span]
    unled: list[int]


def level_of(ask: Ask) -> int:
    """Return the isolation level: `uncommitted` asks for open and aborted transactions, too."""
    return READ_UNCOMMITTED if ask.flag("uncommitted") else READ_COMMITTED


def part_of(
    cluster: ClusterClient, ask: Ask, now_ms: int, *, newest: bool, backwards: bool = False
) -> Part:
    """Return the offsets from `from` up to `to` in the chosen partitions.

    `newest`: the offsets before `from`. A `cursor` replaces `from`, or with `backwards` `to`.
    Raises BadAsk, Refused; Leaderless if none of the partitions has a leader.
    """
    topic = ask.text("topic")
    topics = cluster.topics([topic])
    wanted = [(topic, index) for index in chosen(ask, topics)]
    held_spans = spans(cluster, topics, wanted, level_of(ask))
    unled = [index for _, index in wanted if (topic, index) not in held_spans]
    if not held_spans:
        raise Leaderless(no_leader(topic, unled))
    begin = offsets_at(
        cluster, topics, held_spans, _place(ask, "from", "end" if newest else "start", now_ms)
    )
    end = offsets_at(cluster, topics, held_spans, _place(ask, "to", "end", now_ms))
    cursor = cursor_of(ask)
    held = {index: span for (_, index), span in held_spans.items()}
    meant = {}
    for (_, index), span in held_spans.items():
        at = begin[topic, index] if backwards else cursor.get(index, begin[topic, index])
        at = min(max(at, span.first), span.last)
        stop = min(cursor.get(index, span.last), span.last) if backwards else span.last
        stop = max(min(end[topic, index], stop), at)
        meant[index] = Span(span.first, at) if newest else Span(at, stop)
    return Part(topics, held, meant, unled)


def no_leader(topic: str, partitions: Sequence[int]) -> str:
    """Return the line that says which partitions of a topic have no leader."""
    names = ", ".join(f"{topic}-{index}" for index in partitions[:_NAMED_MAX])
    more = len(partitions) - _NAMED_MAX
    return f"no leader for {names}" + (f" and {more} more" if more > 0 else "")


def newest_of(spans: Mapping[int, Span], most: int) -> dict[int, Span]:
    """Return the last offsets of each partition, so many that they are at most `most` together."""
    share = max(most // max(len(spans), 1), 1)
    return {
        index: Span(max(span.first, span.last - share), span.last) for index, span in spans.items()
    }


def ends_of(
    cluster: ClusterClient, topics: Mapping[str, MetadataResponseTopic], ask: Ask
) -> dict[int, int]:
    """Return the end offsets of the chosen partitions that have a leader. Raises Leaderless if none
    has one."""
    topic = ask.text("topic")
    wanted = {(topic, index): LATEST for index in chosen(ask, topics)}
    ends = list_offsets(cluster, topics, wanted, level_of(ask))
    if not ends:
        raise Leaderless(no_leader(topic, [index for _, index in wanted]))
    return {index: offset for (_, index), offset in ends.items()}


def matcher_asked(ask: Ask, decoder: TopicDecoder | None) -> RecordMatcher | None:
    """Return the matcher of `q` with `regex`, `case` and `parts`, and of `filter`.

    `decoder` is that of the topic. None: the request has neither a text nor a filter, so that it
    selects each record. Raises BadAsk.
    """
    text, condition = _text_asked(ask), _condition_asked(ask)
    if text is None and condition is None:
        return None
    return RecordMatcher(text, condition, decoder)


def _text_asked(ask: Ask) -> Matcher | None:
    parts = tuple(part for part in ask.text("parts", ",".join(PARTS)).split(",") if part)
    if not parts or not set(parts) <= set(PARTS):
        raise BadAsk(f"parts must be some of {', '.join(PARTS)}")
    text = ask.text("q", "")
    if not text:
        return None
    try:
        return matcher_of(text, is_regex=ask.flag("regex"), with_case=ask.flag("case"), parts=parts)
    except BadPattern as error:
        raise BadAsk(str(error)) from None


def _condition_asked(ask: Ask) -> Condition | None:
    text = ask.text("filter", "")
    if not text.strip():
        return None
    try:
        return condition_of(text)
    except BadFilter as error:
        raise BadAsk(str(error)) from None


def left_out(ask: Ask, topics: Mapping[str, MetadataResponseTopic]) -> int:
    """Return the number of partitions, the last ones, that are not read because there are many."""
    if ask.text("partition", ""):
        return 0
    return len(partitions_of(topics)) - len(chosen(ask, topics))


def chosen(ask: Ask, topics: Mapping[str, MetadataResponseTopic]) -> Sequence[int]:
    """Return the partitions of `partition`, such as `0,3-5`, or else all, at most PARTITIONS_MAX.

    Raises BadAsk.
    """
    every = sorted(index for _, index in partitions_of(topics))
    text = ask.text("partition", "")
    if not text:
        return every[:PARTITIONS_MAX]
    chosen: dict[int, None] = {}
    for part in text.split(","):
        numbers = _PARTITIONS.fullmatch(part.strip())
        if numbers is None:
            raise BadAsk(f"partition {text[:40]}: write partition numbers, such as 0,3-5")
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        for number in (first, last):
            if number not in every:
                raise BadAsk(f"the topic has no partition {number}, only 0 to {len(every) - 1}")
        chosen.update(dict.fromkeys(range(first, last + 1)))
    if len(chosen) > PARTITIONS_MAX:
        raise BadAsk(f"choose at most {PARTITIONS_MAX} partitions")
    return list(chosen)


def _place(ask: Ask, name: str, default: str, now_ms: int) -> Place:
    try:
        return parse_place(ask.text(name, "") or default, now_ms, name)
    except StartError as error:
        raise BadAsk(str(error)) from None


def cursor_of(ask: Ask) -> dict[int, int]:
    """Return the offset of each partition in `cursor`; empty without one. Raises BadAsk."""
    text = ask.text("cursor", "")
    try:
        return parse_cursor(text)
    except ValueError:
        raise BadAsk(f"cursor {text[:40]} is not valid") from None
