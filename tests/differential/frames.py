"""Frames that no client sends: cut, with bytes behind, of a version or an API that is not served.

Each is a sequence of one step on a connection of its own. Of these it is compared whether a broker
answers or closes the connection, not what it answers. Owns no broker.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from protocol.api_keys import messages_of
from tests.differential.generate import BODIES, Versions
from tests.differential.odd_values import can_be_sent
from tests.differential.sequence import Resolver, Sequence, Step
from tests.messages.length_fields import lies, recorded

UNKNOWN_TAGS = "0163020102"  # one tagged field, 99, of two bytes
CUTS = (1, 2, 5, 1000)
BEHIND = ("00", "ff", "00000000", "01" * 9)
CLIENT_IDS: tuple[str | None, ...] = (None, "", "\ue000", "x" * 300)
LENGTHS_MAX = 8


def frames(versions: Versions) -> Iterator[Sequence]:
    """Every API in its oldest and latest version, spoilt in every way."""
    for api, (oldest, latest) in sorted(versions.items()):
        for version in sorted({oldest, latest}):
            step = _plain_step(api, version)
            for name, frame in _ways(step, oldest, latest):
                yield _alone(f"frame {api} v{version} {name}", step, frame)
    step = Step("API_VERSIONS", 0)
    for key in (-1, 4, 5, 6, 7, 52, 93, 999, 32_767, -32_768):
        yield _alone(f"frame api key {key}", step, {"api_key": key})
    for size in (-1, 0, 1, 7, 8, 9, 2**31 - 1, -(2**31)):
        yield _alone(f"frame size {size}", step, {"size": size})


def _alone(name: str, step: Step, frame: dict[str, Any]) -> Sequence:
    spoilt = Step(step.api, step.version, step.body, step.connection, frame)
    return Sequence(name, [spoilt], probes=False)


def _plain_step(api: str, version: int) -> Step:
    """A request with something in it, the same at every call."""
    rng = random.Random(f"{api} {version}")
    while True:
        step = Step(api, version, BODIES[api](rng, version)[0])
        if can_be_sent(step) and step.is_answered:
            return step


def _ways(step: Step, oldest: int, latest: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for cut in CUTS:
        yield f"cut by {cut}", {"cut": cut}
    for behind in BEHIND:
        yield f"{behind} behind", {"behind": behind}
    for client_id in CLIENT_IDS:
        yield f"client id {client_id!r:.20}", {"client_id": client_id}
    for version in {oldest - 1: 0, latest + 1: 0, 32_767: 0, -1: 0}:
        yield f"as v{version}", {"version": version}
    if step.version >= messages_of(step.key).request.FLEXIBLE_FROM:
        yield "unknown tag in the header", {"header_tags": UNKNOWN_TAGS}
        yield "a tag twice in the header", {"header_tags": "02" + "6300" * 2}
        yield "a tag of no end", {"header_tags": "0163ff"}
    yield from _wrong_lengths(step)


def _wrong_lengths(step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first lengths of the body, each as what it is not."""
    data, fields = recorded(Resolver("d0-", {}).message(step), step.version)
    for number, field in enumerate(fields[:LENGTHS_MAX]):
        for other, body in enumerate(lies(data, field)):
            yield f"length {number}, lie {other}", {"body": body.hex()}
