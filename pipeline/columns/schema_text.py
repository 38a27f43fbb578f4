"""A schema that a user writes: DDL as Spark's, or a schema of Spark as JSON; as text or in a file.

This module reads the schema without Spark, so that a mistake is an error before Spark starts. It
accepts the types that tables of Delta, Iceberg and Parquet all hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipeline.errors import PipelineError

_PRECISION_MAX = 38
_PLAIN: dict[str, type[DataType]] = {
    "BIGINT": LongType,
    "BINARY": BinaryType,
    "BOOLEAN": BooleanType,
    "DATE": DateType,
    "DOUBLE": DoubleType,
    "FLOAT": FloatType,
    "INT": IntegerType,
    "INTEGER": IntegerType,
    "LONG": LongType,
    "REAL": FloatType,
    "SHORT": ShortType,
    "SMALLINT": ShortType,
    "STRING": StringType,
    "TIMESTAMP": TimestampType,
    "TIMESTAMP_LTZ": TimestampType,
    "TIMESTAMP_NTZ": TimestampNTZType,
}
_DECIMAL = ("DEC", "DECIMAL", "NUMERIC")
# Spark 4.0 reads a byte beyond its range as another number.
_INSTEAD = {"TINYINT": "SMALLINT", "BYTE": "SMALLINT", "VARCHAR": "STRING", "CHAR": "STRING"}
_TOKEN = re.compile(r"""\s*(`(?:[^`]|``)+`|'(?:[^'\\]|\\.|'')*'|[A-Za-z0-9_]+|[<>(),:]|\S)""")


def read_schema(option: str, given: str) -> StructType:
    """Return the schema of `--option given`, where `given` is DDL or JSON, or the path of a file.

    Raises PipelineError, which names the option, if `given` is neither.
    """
    return parse_schema(f"--{option}", text_of(option, given))


def text_of(option: str, given: str) -> str:
    """Return `given` itself, or the text of the file that `given` names. Raises PipelineError if
    the file cannot be read."""
    named = Path(given)
    is_text = re.search(r"[\s:]", given) or given[:1] in ("{", "[", '"')
    try:
        if is_text and not named.is_file():
            return given
        return named.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise PipelineError(f"--{option} {given}: {why}") from error


def parse_schema(where: str, text: str) -> StructType:
    """Return the schema of DDL (`id BIGINT NOT NULL, tags ARRAY<STRING>`) or of Spark's JSON.

    Raises PipelineError, whose message begins with `where`, if the text is no schema that every
    table holds.
    """
    try:
        if text.lstrip().startswith("{"):
            schema = StructType.fromJson(json.loads(text))
            for field in schema:
                _refuse_others(field.name, field.dataType)
        else:
            schema = _Ddl(text).schema()
    except _Wrong as error:
        raise PipelineError(f"{where}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise PipelineError(f"{where}: it is no JSON of a schema of Spark") from error
    _refuse_twins(where, schema)
    return schema


def told(kind: DataType) -> str:
    """Return a type as users write it: `DECIMAL(10,2)`, `ARRAY<STRUCT<id: BIGINT>>`."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{field.name}: {told(field.dataType)}' for field in kind)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{told(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{told(kind.keyType)}, {told(kind.valueType)}>"
    return kind.simpleString().upper()


class _Wrong(Exception):
    """An error in the text; the message does not name the option."""


class _Ddl:
    """A parser of one DDL text, token by token."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        self._at = 0

    def schema(self) -> StructType:
        """Return the schema of the whole text. Raises _Wrong if the text is no DDL."""
        fields = list(self._fields(end=""))
        if not fields:
            raise _Wrong("it names no column")
        return StructType(fields)

    def _fields(self, end: str) -> Iterator[StructField]:
        while self._next() != end:
            name = self._name()
            if self._next() == ":":
                self._at += 1
            kind = self._type(name)
            nullable = not self._words("NOT", "NULL")
            if self._words("COMMENT"):
                self._at += 1
            yield StructField(name, kind, nullable)
            if self._next() not in (",", end):
                raise _Wrong(f"column {name}: a comma is wanted before {self._next() or 'the end'}")
            if self._next() == ",":
                self._at += 1

    def _name(self) -> str:
        token = self._take()
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not re.fullmatch(r"\w+", token):
            raise _Wrong(f"{token} is no name of a column: put it in backquotes")
        return token

    def _type(self, name: str) -> DataType:
        word = self._take().upper()
        if word in _PLAIN:
            return _PLAIN[word]()
        if word in _DECIMAL:
            return self._decimal(name)
        if word == "ARRAY":
            self._want("<", name)
            kind: DataType = ArrayType(self._type(name))
        elif word == "MAP":
            self._want("<", name)
            key = self._type(name)
            self._want(",", name)
            kind = MapType(key, self._type(name))
        elif word == "STRUCT":
            self._want("<", name)
            kind = StructType(list(self._fields(end=">")))
        else:
            raise _Wrong(_unknown(name, word))
        self._want(">", name)
        _refuse_others(name, kind)
        return kind

    def _decimal(self, name: str) -> DecimalType:
        if self._next() != "(":
            return DecimalType(10, 0)
        self._at += 1
        numbers = [self._number(name)]
        if self._next() == ",":
            self._at += 1
            numbers.append(self._number(name))
        self._want(")", name)
        kind = DecimalType(*numbers)
        _refuse_others(name, kind)
        return kind

    def _number(self, name: str) -> int:
        token = self._take()
        if not token.isdecimal():
            raise _Wrong(f"column {name}: DECIMAL(precision, scale) is wanted")
        return int(token)

    def _want(self, token: str, name: str) -> None:
        if self._next() != token:
            raise _Wrong(f"column {name}: {token} is wanted before {self._next() or 'the end'}")
        self._at += 1

    def _words(self, *words: str) -> bool:
        there = tuple(token.upper() for token in self._tokens[self._at : self._at + len(words)])
        if there != words:
            return False
        self._at += len(words)
        return True

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        if not token:
            raise _Wrong("it ends too early")
        self._at += 1
        return token


def _unknown(name: str, word: str) -> str:
    if word in _INSTEAD:
        return f"column {name}: {word} is not kept by every table, say {_INSTEAD[word]}"
    return f"column {name}: there is no type {word}"


def _refuse_others(name: str, kind: DataType) -> None:
    """Raise _Wrong for a type that not every table holds."""
    if isinstance(kind, StructType):
        if not kind.fields:
            raise _Wrong(f"column {name}: STRUCT without a field")
        for field in kind:
            _refuse_others(f"{name}.{field.name}", field.dataType)
    elif isinstance(kind, ArrayType):
        _refuse_others(name, kind.elementType)
    elif isinstance(kind, MapType):
        if not isinstance(kind.keyType, StringType):
            raise _Wrong(f"column {name}: the keys of a MAP are STRING")
        _refuse_others(name, kind.valueType)
    elif isinstance(kind, DecimalType):
        if not 0 <= kind.scale <= kind.precision <= _PRECISION_MAX or kind.precision == 0:
            raise _Wrong(f"column {name}: {told(kind)} is no type, precision is at most 38")
    elif not isinstance(kind, tuple(_PLAIN.values())):
        raise _Wrong(_unknown(name, told(kind)))


def _refuse_twins(where: str, kind: DataType, path: str = "") -> None:
    """Raise PipelineError if two fields of a STRUCT differ in case alone, because engines take them
    for the same field."""
    if isinstance(kind, StructType):
        seen: dict[str, str] = {}
        for field in kind:
            other = seen.setdefault(field.name.lower(), field.name)
            if other != field.name or sum(twin.name == other for twin in kind) > 1:
                raise PipelineError(
                    f"{where}: {path}{other} and {path}{field.name} are one column: engines ignore "
                    "case in names"
                )
            _refuse_twins(where, field.dataType, f"{path}{field.name}.")
    elif isinstance(kind, ArrayType):
        _refuse_twins(where, kind.elementType, path)
    elif isinstance(kind, MapType):
        _refuse_twins(where, kind.valueType, path)
