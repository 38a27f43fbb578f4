"""Traces and copies as nodes tell them."""

from __future__ import annotations

from typing import Any


def trace(number: int, *stations: dict[str, Any]) -> dict[str, Any]:
    return {"number": number, "stations": [{"name": "received"}, *stations]}


def appended(topic: str, offset: int, partition: int = 0) -> dict[str, Any]:
    return {"name": "appended", "topic": topic, "partition": partition, "first_offset": offset}


def copy(topic: str, first: int, end: int, partition: int = 0) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "first_offset": first, "end_offset": end}
