"""Calls of the endpoints about groups, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from console.endpoints import Ask, Console
from console.groups.endpoints import ENDPOINTS
from tests.unit.console.one_console import plain


def called(path: str, of: Console, request: Ask) -> Any:
    (endpoint,) = [one for one in ENDPOINTS if one.path == path]
    assert endpoint.answer is not None
    return plain(endpoint.answer(of, request))


def moves(*places: tuple[int, str], execute: bool = False) -> dict[str, object]:
    wanted = [{"topic": "t", "partition": index, "to": to} for index, to in places]
    return {"moves": wanted, "execute": execute}
