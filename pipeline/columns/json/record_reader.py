"""The reader that makes a row's values of a JSON record, or a sentence that says why it does not
fit."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql.types import StructType

from pipeline.columns.json.converters import Converters, Misfit, WantsText
from pipeline.columns.json.parsing import SHOWN_MAX, JsonParser, NotJson, Refused, shown, unframed
from pipeline.columns.json.written_texts import WrittenTexts


class ReadRecord(NamedTuple):
    """The result of reading a record."""

    values: object
    """The values of the fields, in their order; None with a reason, and for a key that is
    missing."""
    reason: str | None
    """The reason why the record does not fit; None if it fits."""
    new: list[str] | None
    """The fields with a value and without a column, if new fields are added; None with a reason."""


class RecordReader:
    """A reader of many records with the same fields.

    `what` is `value` or `key`, for the sentences of reasons. A record without a key fits, a record
    without a value does not.
    """

    def __init__(self, fields: StructType, new_fields: str, what: str) -> None:
        self._what = what
        self._parser = JsonParser()
        self._texts = WrittenTexts(fields)
        self._converters = Converters(new_fields)
        self._convert = self._converters.of_object(fields)

    def read(self, data: bytes | None) -> ReadRecord:
        """Return the result of reading the bytes of a key or a value; None is a missing one."""
        if data is None:
            missing = None if self._what == "key" else f"there is no {self._what} (a tombstone)"
            return ReadRecord(None, missing, None)
        self._converters.new = []
        data = unframed(data)
        try:
            values = self._values(data.decode())
        except UnicodeDecodeError:
            return self._refused(f"the {self._what} is no text in UTF-8")
        except NotJson:
            return self._refused(f"the {self._what} is not JSON: {data.decode()[:SHOWN_MAX]}")
        except Refused as error:
            return self._refused(f"the {self._what} {error}")
        except Misfit as error:
            return self._refused(str(error))
        return ReadRecord(values, None, self._converters.new)

    def _values(self, text: str) -> object:
        value = self._parser.parse(text)
        if not isinstance(value, dict):
            raise Misfit(f"the {self._what} is no JSON object: {shown(value)}")
        try:
            return self._convert(value)
        except WantsText:
            self._converters.new = []
            return self._convert(self._texts.put(text, value))

    def _refused(self, reason: str) -> ReadRecord:
        return ReadRecord(None, reason, None)
