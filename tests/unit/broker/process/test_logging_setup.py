"""Log lines: readable, structured, never more than one line a message."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from broker.process.logging_setup import (
    AUDIT_LOGGER,
    JsonFormatter,
    TextFormatter,
    configure_logging,
)


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger(AUDIT_LOGGER).setLevel(logging.NOTSET)


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("broker.x", logging.WARNING, "f.py", 1, message, (), None)
    made.created, made.msecs = 1_000_000_000.25, 250.0
    made.fields = fields
    return made


def test_a_text_line() -> None:
    line = TextFormatter().format(record("closed", connection="a b", bytes=7, empty=""))
    assert line == (
        '2001-09-09T01:46:40.250Z WARN broker.x closed connection="a b" bytes=7 empty=""'
    )


def test_what_a_peer_sent_forges_no_line() -> None:
    line = TextFormatter().format(record("client\nERROR forged", id="x\r\ny"))
    assert "\n" not in line and "client\\nERROR forged" in line and "x\\r\\ny" in line


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_what_a_peer_sent_steers_no_terminal(formatter: logging.Formatter) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\u202e"
    try:
        raise ValueError(evil)
    except ValueError:
        told = record(f"client {evil}", id=evil)
        told.exc_info = sys.exc_info()
    lines = formatter.format(told).split("\n")
    assert all(line.isprintable() for line in lines)
    if isinstance(formatter, JsonFormatter):
        assert json.loads(lines[0])["id"] == evil


def test_a_json_line() -> None:
    entry = json.loads(JsonFormatter().format(record("closed", bytes=7)))
    assert entry == {
        "time": "2001-09-09T01:46:40.250Z",
        "level": "WARN",
        "logger": "broker.x",
        "message": "closed",
        "bytes": 7,
    }


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_traceback_is_kept(style: str) -> None:
    stream = io.StringIO()
    configure_logging("WARNING", style, stream)
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("a").exception("failed")
    assert "ValueError: broken" in stream.getvalue()
    assert (stream.getvalue().count("\n") == 1) == (style == "json")


def test_levels_are_quiet_by_default() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", "text", stream)
    logging.getLogger("a").info("not shown")
    logging.getLogger("a").warning("shown")
    assert stream.getvalue().count("\n") == 1 and "shown" in stream.getvalue()
    configure_logging("INFO", "text")
    assert [handler.stream for handler in logging.getLogger().handlers] == [sys.stderr]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("level", "written"), [("DEBUG", True), ("INFO", True), ("WARNING", True), ("ERROR", False)]
)
def test_who_was_denied_what_is_written_by_default(level: str, written: bool) -> None:
    out = io.StringIO()
    configure_logging(level, "text", out)
    logging.getLogger(AUDIT_LOGGER).info("denied")
    assert ("INFO ottla.authorizer denied" in out.getvalue()) is written
    logging.getLogger("ottla.other").info("chatter")
    assert ("chatter" in out.getvalue()) is (level in ("DEBUG", "INFO"))
