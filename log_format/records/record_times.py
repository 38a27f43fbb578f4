"""Which of a record's times a column of Arrow and Spark has: those of the years 1 to 9999.

A record's time is any number of 64 bits, and some producers give nanoseconds. Tables, pandas and
Python's datetime have no such times, so the column is null there, and a header of this name, behind
the record's own, keeps the number.
"""

from __future__ import annotations

TIME_HEADER = "ottla.timestamp.ms"
"""Its value is the number in decimal digits."""
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""Milliseconds since 1970 of the first and the last time that the column has, in UTC."""
