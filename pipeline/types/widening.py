"""The types that a column can grow to: the type that holds the values of two types, by format.

Pure functions of single types; knows no table. Sources: Iceberg's "Schema Evolution", whose type
promotions are int → long, float → double and more digits of a decimal; the Delta protocol's "Type
Widening". A table of plain Parquet would have files of both types, which readers do not combine.
"""

from __future__ import annotations

from pyspark.sql.types import (
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
)

PRECISION_MAX = 38
_WHOLE: tuple[type[DataType], ...] = (ShortType, IntegerType, LongType)
_FLOATING: tuple[type[DataType], ...] = (FloatType, DoubleType)
_EXACT_IN_DOUBLE = (ShortType, IntegerType)


def both(kept: DataType, wanted: DataType) -> DataType | None:
    """Return the narrowest type that holds each value of both exactly, None if there is none."""
    if kept == wanted:
        return kept
    for order in (_WHOLE, _FLOATING):
        if type(kept) in order and type(wanted) in order:
            return max(kept, wanted, key=lambda kind: order.index(type(kind)))
    if isinstance(kept, DecimalType) and isinstance(wanted, DecimalType):
        scale = max(kept.scale, wanted.scale)
        precision = scale + max(kept.precision - kept.scale, wanted.precision - wanted.scale)
        return DecimalType(precision, scale) if precision <= PRECISION_MAX else None
    for whole, floating in ((kept, wanted), (wanted, kept)):
        if isinstance(whole, _EXACT_IN_DOUBLE) and type(floating) in _FLOATING:
            return DoubleType()
    return None


def can_grow(form: str, kept: DataType, wider: DataType) -> bool:
    """Return whether tables of the format `form` can change a column of the type `kept` to `wider`.

    `wider` holds each value of `kept`, as `both` returns it.
    """
    if form == "delta":
        return True
    if form != "iceberg" or (isinstance(kept, _EXACT_IN_DOUBLE) and type(wider) in _FLOATING):
        return False
    return not isinstance(kept, DecimalType) or kept.scale == getattr(wider, "scale", None)
