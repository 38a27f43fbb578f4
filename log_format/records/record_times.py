"""The range of record timestamps in columns of Arrow and Spark: the years 1 to 9999.

A record's timestamp is any number of 64 bits, and some producers send nanoseconds. Tables, pandas
and Python's datetime have no such times, so the column is null, and an additional header after the
record's own has the number.
"""

from __future__ import annotations

TIME_HEADER = "ottla.timestamp.ms"
"""The key of that header, whose value is the number in decimal digits."""
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last time that the column has, in ms since the epoch."""
