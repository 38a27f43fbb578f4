"""Converters from JSON to the types of columns: a value, or the reason why it does not fit.

A converter takes a value that `parsing` gave, never None, and returns the value that pyarrow
requires: for a DATE the days, for a TIMESTAMP the microseconds since 1970, for a STRUCT a tuple,
for a MAP a list of pairs. A converter never changes a value: a number that a type cannot hold does
not fit. Only a number with a fraction or an exponent becomes the nearest DOUBLE or FLOAT.
docs/pipeline.md has these rules as a table.
"""

from __future__ import annotations

import math
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal

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
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipeline.columns.json.parsing import Fraction, Number, Whole, shown
from pipeline.columns.json.time_texts import (
    NotThisTime,
    days_of,
    local_us_of,
    us_of,
    us_of_seconds,
)
from pipeline.columns.schema_text import told

Convert = Callable[[object], object]
"""A converter from a JSON value to a column's value. Raises Misfit if the value does not fit."""
ConvertEach = Callable[[object], list[object]]
ADD, IGNORE, MISFIT = "add", "ignore", "misfit"
_BITS: dict[type[DataType], int] = {ShortType: 16, IntegerType: 32, LongType: 64}
_LONG_DIGITS, _DECIMAL_DIGITS, _DOUBLE_DIGITS, _FLOAT_DIGITS = 18, 38, 15, 7
_EXPONENT_DIGITS = 9
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


class Misfit(Exception):
    """The error for a record that does not fit; the message is the reason."""


class WantsText(Exception):
    """The error for an object or an array in a STRING column if its text was not kept."""


class Converters:
    """A maker of the converters for a schema, which collects a record's fields beyond the
    schema."""

    def __init__(self, new_fields: str) -> None:
        self._new_fields = new_fields
        self.new: list[str] = []
        """The fields of a record that have a value and no column, in the order of the record."""

    def of_object(self, fields: StructType, path: str = "") -> Convert:
        """Return the converter for an object with these fields, whose names follow `path`."""
        plan = [
            (field.name, self._of(field.dataType, path + field.name), field.nullable)
            for field in fields
        ]
        names = frozenset(fields.names)
        lower_names = frozenset(name.lower() for name in names)

        def convert(value: object) -> object:
            assert isinstance(value, dict)
            row: list[object] = []
            matched, missing = 0, None
            for name, of_value, nullable in plan:
                item = value.get(name)
                if item is not None:
                    matched += 1
                    row.append(of_value(item))
                    continue
                matched += name in value
                row.append(None)
                if not nullable and missing is None:
                    missing = name
            if matched != len(value):
                others = [name for name in value if name not in names]
                self._check_others(value, others, lower_names, path)
            if missing is not None:
                raise Misfit(f"field {path}{missing} is missing or null")
            return tuple(row)

        return convert

    def _check_others(
        self, value: dict[str, object], others: list[str], lower_names: frozenset[str], path: str
    ) -> None:
        """Add the fields without a column to `new`. Raises Misfit if a column's name differs from a
        field's in case alone, or if new fields are misfits."""
        for name in others:
            if name.lower() in lower_names:
                raise Misfit(f"field {path}{name} differs from a column in case alone")
        if self._new_fields == MISFIT:
            raise Misfit(f"field {path}{others[0]} is not in the schema")
        if self._new_fields == ADD:
            self.new += [f"{path}{name}" for name in others if has_type(value[name])]

    def _of(self, kind: DataType, name: str) -> Convert:
        """Return the converter for a value with the name `name`."""
        if isinstance(kind, StructType):
            return _checked(dict, kind, name, self.of_object(kind, f"{name}."))
        if isinstance(kind, ArrayType):
            elements = self._of_each(kind.elementType, kind.containsNull, f"{name}[]")
            return _checked(list, kind, name, elements)
        if isinstance(kind, MapType):
            values = self._of_each(kind.valueType, kind.valueContainsNull, f"{name}[]")
            return _checked(dict, kind, name, lambda value: _pairs(value, values))
        return _scalar(kind, name)

    def _of_each(
        self, kind: DataType, nullable: bool, name: str
    ) -> Callable[[object], list[object]]:
        of_value = self._of(kind, name)

        def convert(values: object) -> list[object]:
            assert isinstance(values, list)
            if not nullable and None in values:
                raise Misfit(f"field {name} is null")
            return [None if item is None else of_value(item) for item in values]

        return convert


def has_type(value: object) -> bool:
    """Return whether a value shows a type: not null, `[]`, `{}`, or a value of these alone."""
    if isinstance(value, dict):
        return any(map(has_type, value.values()))
    if isinstance(value, list):
        return any(map(has_type, value))
    return value is not None


def is_exact(whole: str) -> bool:
    """Return whether a DOUBLE holds a whole number exactly."""
    if len(whole) <= _DOUBLE_DIGITS:
        return True
    nearest = float(whole)
    return math.isfinite(nearest) and int(nearest) == int(whole)


def nearest_float(number: str) -> float:
    """Return the FLOAT nearest to a number, infinite if the number is beyond the range of FLOAT."""
    nearest = float(number)
    if math.isfinite(nearest) and len(number) > _FLOAT_DIGITS:
        # Two roundings could give another FLOAT than a single one, so round to an odd DOUBLE first.
        exact, rounded = Decimal(number), Decimal(nearest)
        if exact != rounded and not struct.unpack("<q", struct.pack("<d", nearest))[0] & 1:
            nearest = math.nextafter(nearest, math.inf if exact > rounded else -math.inf)
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", nearest))
    except OverflowError:
        return math.copysign(math.inf, nearest)
    return float(single)


def _checked(
    wanted: type[object], kind: DataType, name: str, convert: Callable[..., object]
) -> Convert:
    words = told(kind)

    def checked(value: object) -> object:
        if type(value) is not wanted:
            raise Misfit(f"field {name} does not fit {words}: {shown(value)}")
        return convert(value)

    return checked


def _pairs(members: dict[str, object], of_values: ConvertEach) -> list[tuple[str, object]]:
    return list(zip(members, of_values(list(members.values())), strict=True))


def _scalar(kind: DataType, name: str) -> Convert:
    if type(kind) in _BITS:
        return _whole(_BITS[type(kind)], told(kind), name)
    if isinstance(kind, DecimalType):
        return _decimal(kind, name)
    return _SCALARS[type(kind)](name)


def _wrong(name: str, value: object, kind: str) -> Misfit:
    return Misfit(f"field {name} is {_type_of(value)}, not {kind}: {shown(value)}")


def _whole(bits: int, kind: str, name: str) -> Convert:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(value: object) -> int:
        if type(value) is Whole and len(value) <= _LONG_DIGITS + 2:
            number = int(value)
            if low <= number <= high:
                return number
        raise _wrong(name, value, kind)

    return convert


def _decimal(kind: DecimalType, name: str) -> Convert:
    words = told(kind)

    def convert(value: object) -> Decimal:
        if isinstance(value, Number):
            decimal = decimal_of(value, kind.precision, kind.scale)
            if decimal is not None:
                return decimal
        raise _wrong(name, value, words)

    return convert


def decimal_of(number: str, precision: int, scale: int) -> Decimal | None:
    """Return a number with `scale` digits after the point, None if that would change the number."""
    form = _NUMBER.fullmatch(number)
    assert form is not None, "it was parsed"
    sign, whole, fraction, exponent = form.groups()
    fraction = fraction or ""
    digits = (whole + fraction).strip("0")
    if not digits:
        return Decimal((0, (0,), -scale))
    if exponent and len(exponent.lstrip("+-").lstrip("0")) > _EXPONENT_DIGITS:
        return None
    behind = len((whole + fraction).rstrip("0")) - len(whole) - int(exponent or 0)
    if behind > scale or len(digits) - behind > precision - scale:
        return None
    unscaled = digits + "0" * (scale - behind)
    return Decimal((int(bool(sign)), tuple(map(int, unscaled)), -scale))


def _double(name: str) -> Convert:
    def convert(value: object) -> float:
        if type(value) is Whole:
            if is_exact(value):
                return float(value)
        elif type(value) is Fraction:
            number = float(value)
            if math.isfinite(number):
                return number
        raise _wrong_number(name, value, "DOUBLE")

    return convert


def _float(name: str) -> Convert:
    def convert(value: object) -> float:
        if isinstance(value, Number):
            number = nearest_float(value)
            if math.isfinite(number) and (type(value) is Fraction or int(number) == int(value)):
                return number
        raise _wrong_number(name, value, "FLOAT")

    return convert


def _wrong_number(name: str, value: object, kind: str) -> Misfit:
    if not isinstance(value, Number):
        return _wrong(name, value, kind)
    nearest = float(value) if kind == "DOUBLE" else nearest_float(value)
    if math.isinf(nearest):
        return Misfit(f"field {name} is beyond the range of {kind}: {shown(value)}")
    return Misfit(f"field {name} is a whole number that no {kind} is exactly: {shown(value)}")


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise WantsText


def _boolean(name: str) -> Convert:
    def convert(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise _wrong(name, value, "BOOLEAN")

    return convert


def _binary(name: str) -> Convert:
    def convert(value: object) -> bytes:
        if type(value) is str:
            try:
                data = b64decode(value, validate=True)
            except ValueError:
                data = b""
            if b64encode(data).decode() == value:
                return data
        raise _wrong(name, value, "BINARY")

    return convert


def _time_text(kind: str, parse: Callable[[str], int | None]) -> Callable[[str], Convert]:
    """Return the function that makes a converter for texts from a column's name. `parse` reads a
    text."""

    def of_column(name: str) -> Convert:
        def convert(value: object) -> int:
            try:
                parsed = parse(value) if type(value) is str else None
            except NotThisTime as error:
                raise Misfit(f"field {name} {error}") from error
            if parsed is None:
                raise _wrong(name, value, kind)
            return parsed

        return convert

    return of_column


def _timestamp(name: str) -> Convert:
    of_text = _time_text("TIMESTAMP", us_of)(name)

    def convert(value: object) -> object:
        if type(value) is not Whole:
            return of_text(value)
        try:
            # If a number is longer, its first digits are beyond the bounds, too.
            return us_of_seconds(int(value[: _LONG_DIGITS + 2]))
        except NotThisTime as error:
            raise Misfit(f"field {name} {error}") from error

    return convert


def _type_of(value: object) -> str:
    """Return the type of a JSON value, as a reason names the type."""
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return _number_type(value) if isinstance(value, Number) else "STRING"


def _number_type(number: Number) -> str:
    form = _NUMBER.fullmatch(number)
    assert form is not None, "it was parsed"
    if form[4]:
        return "DOUBLE"
    scale = len(form[3] or "")
    precision = max(len((form[2] + (form[3] or "")).lstrip("0")), scale, 1)
    if scale == 0 and precision <= _LONG_DIGITS + 1 and -(1 << 63) <= int(number) < 1 << 63:
        return "BIGINT"
    return f"DECIMAL({precision},{scale})" if precision <= _DECIMAL_DIGITS else "a number"


_SCALARS: dict[type[DataType], Callable[[str], Convert]] = {
    BinaryType: _binary,
    BooleanType: _boolean,
    DateType: _time_text("DATE", days_of),
    DoubleType: _double,
    FloatType: _float,
    StringType: lambda _: _string,
    TimestampNTZType: _time_text("TIMESTAMP_NTZ", local_us_of),
    TimestampType: _timestamp,
}
"""The functions that make a converter from a column's name, for each type of a column."""
