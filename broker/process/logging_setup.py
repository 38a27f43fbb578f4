"""The logging of the process: one line a record, to standard error, at `ottla.log.level`.

Text lines read
`2026-11-21T12:30:05.123Z WARN ottla.broker.network.server.processor message key=value`;
with `ottla.log.format=json` each line is one JSON object. A module's logger is
`logging.getLogger(f"ottla.{__name__}")`, so the file's path is the logger's name. Facts go into
`extra={"fields": {…}}`; no other module configures logging.

The audit log, `ottla.authorizer`, logs denied actions at INFO. These lines are written at the
default level WARNING, too, because in them most users see which right is missing.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TextIO

from ground.printable import printable, printable_json, printable_lines

AUDIT_LOGGER = "ottla.authorizer"

_SHORT = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def configure_logging(level: str, style: str, stream: TextIO | None = None) -> None:
    """Send every logger's records of at least `level` to `stream`, by default standard error, and
    nowhere else. `style` is text or json.

    At the level WARNING, the audit log's records of level INFO are sent, too.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    audited = logging.INFO if root.level == logging.WARNING else logging.NOTSET
    logging.getLogger(AUDIT_LOGGER).setLevel(audited)


class TextFormatter(logging.Formatter):
    """The format of a line of text: time, level, logger, message, `key=value` facts; a traceback
    below."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and below it the stack trace, if any; control characters are escaped."""
        level = _SHORT.get(record.levelname, record.levelname)
        parts = [_time_text(record), level, record.name, printable(record.getMessage())]
        parts += [f"{key}={_quoted(value)}" for key, value in _fields(record).items()]
        line = " ".join(parts)
        if not record.exc_info:
            return line
        return f"{line}\n{printable_lines(self.formatException(record.exc_info))}"


class JsonFormatter(logging.Formatter):
    """The format of a JSON object a line; a traceback is one of its strings."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON, with the stack trace, if any, in it."""
        entry: dict[str, object] = {
            "time": _time_text(record),
            "level": _SHORT.get(record.levelname, record.levelname),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return printable_json(entry)


def _time_text(record: logging.LogRecord) -> str:
    """Return the record's time in UTC, with milliseconds, such as `2026-11-21T12:30:05.123Z`."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return the record's own key and value pairs, which `extra` has as `fields`."""
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _quoted(value: object) -> str:
    """Return the value as JSON if it is empty or has a space or a quote, else as it is."""
    text = printable(str(value))
    return (
        json.dumps(text, ensure_ascii=False) if text == "" or " " in text or '"' in text else text
    )
