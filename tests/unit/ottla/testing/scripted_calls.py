"""A stand-in for the control channel: answers that a test has written, and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ottla.testing.frames import Json


class ScriptedCalls:
    """Call it as a broker's `call`. An answer is a value, or a function of the arguments."""

    def __init__(self, **answers: Json | Callable[[Mapping[str, Json]], Json]) -> None:
        self.answers = {name.replace("__", "."): answer for name, answer in answers.items()}
        self.calls: list[tuple[str, Mapping[str, Json]]] = []

    def __call__(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        self.calls.append((op, dict(args or {})))
        answer = self.answers[op]
        return answer(args or {}) if callable(answer) else answer

    def asked(self, op: str) -> list[Mapping[str, Json]]:
        """The arguments of each call of that operation."""
        return [args for name, args in self.calls if name == op]


class Log:
    """One partition of a topic, consumed as the server's half does it; grows when it is waited
    for."""

    def __init__(
        self,
        *values: bytes,
        comes: tuple[bytes, ...] = (),
        exists: bool = True,
        most: int = 100,
    ) -> None:
        """An answer has `most` records at most."""
        self.values = list(values)
        self.comes = list(comes)
        self.exists = exists
        self.most = most

    def consume(self, args: Mapping[str, Json]) -> Json:
        if args["count"] is not None and self.comes:
            self.values.append(self.comes.pop(0))
        start = args["positions"].get("0", 0)
        found = self.values[start:]
        if args["count"] is not None:
            found = found[: args["count"]]
        cut_off, found = len(found) > self.most, found[: self.most]
        records = [
            {
                "partition": 0,
                "offset": start + at,
                "timestamp": 17,
                "key": b"k",
                "value": value,
                "headers": [["h", b"1"]],
            }
            for at, value in enumerate(found)
        ]
        positions = {"0": start + len(found)} if self.exists else {}
        return {
            "records": records,
            "positions": positions,
            "exists": self.exists,
            "cut_off": cut_off,
            "ends": {"0": len(self.values)},
        }


def partition(index: int, committed: int | None, end: int, lag: int, open_: bool = False) -> Json:
    return {
        "topic": "orders",
        "partition": index,
        "committed": committed,
        "end": end,
        "lag": lag,
        "open_transaction": open_,
    }


def group(
    *partitions: Json,
    state: str = "Stable",
    members: int = 1,
    missing: Sequence[str] = (),
    type_: str = "classic",
) -> Json:
    return {
        "type": type_,
        "state": state,
        "members": [{"client_id": f"c{one}"} for one in range(members)],
        "partitions": list(partitions),
        "missing": list(missing),
    }
