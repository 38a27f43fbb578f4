"""Dates and times in JSON as the job `table` takes them: each text of many beside a reference in
plain Python, at each place of a value; and the first and the last of them as every reader of a
table has them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, records, split

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

    from pipeline.columns.columns import Columns

pytestmark = ON_SPARK

SEED, TEXTS = 51, 1_500
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Value = date | datetime | None

# What is written by hand: forms that Spark's own reader takes, the bounds, and days that are none.
LISTED = (
    *(
        "20261128",
        "202611",
        "2026",
        "2026-11",
        "2026-11-",
        "2026-1-2",
        "2026-11-28T",
        "2026-11-28 ",
    ),
    *("2026-11-28Tnoon", "2026-11-28T12", "2026-11-28T12:30", "2026-11-28T12:30Z", "2026-11-28Z"),
    *(
        "T12:30",
        "T12:30:00",
        "12:30",
        "12:30:00Z",
        "12:30:00",
        "epoch",
        "now",
        "today",
        "yesterday",
    ),
    *("tomorrow", "NOW", "", " ", "2026-11-28\n", " 2026-11-28", "2026-11-28T12:30:00Z ", "null"),
    *("+2026-11-28", "-2026-11-28", "+57443-01-01", "57443-01-01", "-0001-01-01", "0000-01-01"),
    *(
        "0000-12-31T23:59:59.999999Z",
        "0001-01-01",
        "0001-01-01T00:00:00Z",
        "9999-12-31",
        "0001-1-1",
    ),
    *("9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.9999999"),
    *("0001-01-01T00:00:00+00:01", "0001-01-01T00:00:00-00:01", "9999-12-31T23:59:59.999999-00:01"),
    *("9999-12-31T23:59:59.999999+00:01", "10000-01-01", "2026-11-28T12:30:00+18:00"),
    *("2026-11-28T12:30:00-18:00", "2026-11-28T12:30:00+18:01", "2026-11-28T12:30:00+19"),
    *("2026-11-28T12:30:00+05:60", "2026-11-28T12:30:00+0530", "2026-11-28T12:30:00+05"),
    *("2026-11-28T12:30:00+5", "2026-11-28T12:30:00+5:30", "2026-11-28T12:30:00-00:00"),
    *("2026-11-28T12:30:00 Z", "2026-11-28T12:30:00z", "2026-11-28t12:30:00Z", "2026-11-28_12:30"),
    *("2026-11-28T12:30:00UTC", "2026-11-28T12:30:00 UTC", "2026-11-28T12:30:00 Europe/Paris"),
    *("2026-11-28T12:30:00[Europe/Paris]", "2026-11-28T12:30:00+01:00[Europe/Paris]"),
    *("2026-11-28T12:30:00PST", "2026-11-28T12:30:00GMT+1", "2026-11-28T12:30:00+05:30:15"),
    *("2016-12-31T23:59:60Z", "2016-12-31T23:59:61", "2026-11-28T24:00:00", "2026-11-28T24:00:00Z"),
    *("2026-11-28T00:60:00", "2026-02-29", "2024-02-29", "2026-02-30", "1900-02-29", "2000-02-29"),
    *("2026-04-31", "2026-00-10", "2026-13-10", "2026-10-00", "2026-10-32", "2026-02-29T00:00:00Z"),
    *("1582-10-04", "1582-10-10", "1582-10-15", "1500-02-29", "1500-02-28", "1582-10-10T00:00:00Z"),
    *(
        "1883-11-18T12:03:58",
        "2026-03-29T02:30:00",
        "2026-11-28T12:30:00.",
        "2026-11-28T12:30:00.Z",
    ),
    *("2026-11-28T12:30:00.1", "2026-11-28T12:30:00.123456Z", "2026-11-28T12:30:00.1234567Z"),
    *("2026-11-28T12:30:00.1234560Z", "2026-11-28T12:30:00.5" + "0" * 40, "2026-11-28T12:30:00,5Z"),
    *("2026-11-28T12:30.5", "2026-11-28T1:2:3", "2026-11-28T12:30:0", "2026-11-28  12:30:00"),
    *(
        "2026-11-28T123000Z",
        "20261128T123000Z",
        "2026-W48-6",
        "2026-332",
        "28.11.2026",
        "11/28/2026",
    ),
    *("Sat, 28 Nov 2026 12:30:00 GMT", "２０２６-11-28", "2026-11-28T12:30:0０", "2026‐11‐28", "x"),
    *("1764000000", "1764000000000", "-1", "0", "20420", "1e3", "Infinity", "NaN", "true"),
    *("2026-11-28\u0000", "2026-11-28\u2028", "2026-11-28T12:30:00Z\r\n", "\ufeff2026-11-28"),
)
# JSON that is no text. Seconds, milliseconds, µs and ns of now and of before 1970, and the bounds;
# µs of which Spark makes a time of these years as it multiplies beyond 64 bits.
NUMBERS = (
    *("0", "-0", "1", "-1", "2026", "20261128", "1764000000", "-631152000", "1764000000000"),
    *("-631152000000", "1764000000000000", "-631152000000000", "1764000000000000000"),
    *("253402300799", "253402300800", "-62135596800", "-62135596801", "9223372036854775807"),
    *("-9223372036854775808", "9223372036854775808", "-99999999999999999999", "18446744073710"),
    *(
        "18446744073709551",
        "36893488147419103",
        "-18446744073709552",
        "1764000000.0",
        "1764000000.5",
    ),
    *("1.764e9", "1e3", "1E400", "NaN", "Infinity", "-Infinity", "true", "false", "{}", "[]"),
    *('{"a":1}', "[1]", '["2026-11-28"]', '{"a":"2026-11-28"}', '{"epochSecond":1764000000}'),
)

TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
# Where a value stands: what is put around its JSON, its name in a reason, and how it is found.
PLACES: tuple[tuple[str, str, Callable[[dict[str, Any]], Any]], ...] = (
    ('{"t":%s}', "t", lambda row: row["t"]),
    ('{"s":{"t":%s,"u":1}}', "s.t", lambda row: row["s"]["t"]),
    ('{"l":["2000-01-01",null,%s]}', "l[]", lambda row: row["l"][2]),
    ('{"m":{"k":%s}}', "m[]", lambda row: dict(row["m"])["k"]),
    ('{"o":[null,{"t":null},{"t":%s}]}', "o[].t", lambda row: row["o"][2]["t"]),
)
FIELDS = (
    "t {0}, s STRUCT<t: {0}, u: INT>, l ARRAY<{0}>, m MAP<STRING, {0}>, o ARRAY<STRUCT<t: {0}>>"
)


def columns_for(schema: str) -> Columns:
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    return Columns(Json(parse_schema("x", schema)), Raw("key"))


def digits(text: str, count: int) -> int | None:
    """A number of exactly so many of the digits 0 to 9."""
    return int(text) if re.fullmatch("[0-9]+", text) and len(text) == count else None


def day_of(text: str) -> date | None:
    parts = [digits(text[:4], 4), digits(text[5:7], 2), digits(text[8:], 2)]
    if text[4:5] + text[7:8] != "--" or None in parts:
        return None
    try:
        return date(*(part for part in parts if part is not None))
    except ValueError:
        return None


def offset_of(zone: str) -> timedelta | None:
    """How far a zone is from UTC: `Z`, `+05`, `+0530`, `+05:30`, up to 18 hours."""
    if zone == "Z":
        return timedelta()
    hours, minutes = digits(zone[1:3], 2), digits(zone[3:].removeprefix(":") or "00", 2)
    if hours is None or minutes is None or minutes > 59 or zone[3:] == ":":
        return None
    found = timedelta(hours=hours, minutes=minutes)
    return None if found > timedelta(hours=18) else -found if zone[0] == "-" else found


def clock_of(text: str) -> timedelta | None:
    """The time of day of `12:30`, `12:30:00`, `12:30:00.123456`."""
    whole, dot, fraction = text.partition(".")
    parts = whole.split(":")
    numbers = [digits(part, 2) for part in parts]
    if None in numbers or len(parts) not in ((3,) if dot else (2, 3)):
        return None
    hours, minutes, seconds = (*(one or 0 for one in numbers), 0)[:3]
    micros = fraction[:6].ljust(6, "0") if dot else "000000"
    if hours > 23 or minutes > 59 or seconds > 59 or digits(micros, 6) is None:
        return None
    if dot and (not fraction or fraction[6:].strip("0")):
        return None
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=int(micros))


def time_of(text: str, zones: bool) -> datetime | None:
    """The time that a text means, without a zone; in UTC where it may have a zone."""
    day, clock, shift = day_of(text[:10]), timedelta(), timedelta()
    if day is None:
        return None
    if text[10:]:
        rest = text[11:]
        zone = re.search("[Z+-].*", rest, re.DOTALL) if zones else None
        found = clock_of(rest[: zone.start()] if zone else rest)
        offset = offset_of(zone[0]) if zone else timedelta()
        if text[10] not in "T " or found is None or offset is None:
            return None
        clock, shift = found, offset
    try:
        return datetime(day.year, day.month, day.day) + clock - shift
    except OverflowError:
        return None


def meant(raw: str, kind: str) -> Value:
    """What the JSON means as a value of the type; None where it does not fit."""
    if raw.startswith('"'):
        text = json.loads(raw)
        if kind == "DATE":
            return day_of(text)
        found = time_of(text, kind == "TIMESTAMP")
        return found.replace(tzinfo=UTC) if found is not None and kind == "TIMESTAMP" else found
    if kind == "TIMESTAMP" and re.fullmatch("-?[0-9]+", raw):
        try:
            return EPOCH + timedelta(seconds=int(raw))
        except OverflowError:
            return None
    return None


def one_text(seed: random.Random) -> str:
    """A text that is a date, a time, or nearly one."""
    year = seed.choice(("0000", "0001", "1582", "1969", "2024", "2026", "9999", "10000", "26"))
    month, day = seed.choice((0, *range(1, 13), 13)), seed.choice((*range(1, 32), 32))
    hour, minute, second = (seed.choice((0, last // 2, last, last + 1)) for last in (23, 59, 59))
    clock = seed.choice((f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}:{second:02}", "7:30"))
    fraction = seed.choice(("", "", f".{seed.randint(0, 10 ** seed.randint(1, 9))}"))
    shift = f"{seed.randint(0, 19):02}{seed.choice((':', ''))}{seed.randint(0, 61):02}"
    zone = f"{seed.choice('+-')}{shift}"
    zone = seed.choice(("", "", "Z", "Z", zone, zone[:3], " Z", "UTC"))
    clock = seed.choice(("", "", f"{seed.choice('TTT ')}{clock}{fraction}{zone}"))
    text = f"{year}-{month:02}-{day:02}{clock}"
    for _ in range(seed.choice((0, 0, 0, 0, 1, 2))):
        at = seed.randrange(len(text) + 1)
        put = seed.choice(("", *" 0:-+.TZ/,a\n\t\u0660"))
        text = text[:at] + put + text[at + seed.randint(0, 1) :]
    return text


def json_values() -> list[str]:
    seed = random.Random(SEED)
    texts = [*LISTED, *(one_text(seed) for _ in range(TEXTS))]
    numbers = [str(seed.randint(-(10**n), 10**n)) for n in range(1, 25) for _ in range(4)]
    return [*(json.dumps(text) for text in texts), *NUMBERS, *numbers]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("kind", TYPES)
def test_a_text_is_the_value_that_it_means_or_a_misfit(spark: SparkSession, kind: str) -> None:
    seed = random.Random(f"{SEED} {kind}")
    cases = [(raw, seed.choice(PLACES)) for raw in json_values()]
    values = [(around % raw).encode() for raw, (around, _, _) in cases]
    rows, misfits = split(columns_for(FIELDS.format(kind)), records(spark, *values))
    fit = {row["offset"]: row for row in rows.toArrow().to_pylist()}
    reasons = {row["offset"]: row["reason"] for row in misfits.toArrow().to_pylist()}
    wrong = []
    fitting = 0
    for offset, (raw, (_, name, value_in)) in enumerate(cases):
        wanted = meant(raw, kind)
        fitting += wanted is not None
        assert (offset in fit) != (offset in reasons), raw
        if wanted is not None and (offset in reasons or value_in(fit[offset]) != wanted):
            wrong.append((raw, name, wanted, reasons.get(offset) or value_in(fit[offset])))
        elif wanted is None and not reasons.get(offset, "").startswith(f"field {name} is "):
            wrong.append((raw, name, None, reasons.get(offset) or value_in(fit[offset])))
    assert wrong == []
    assert fitting > TEXTS // 20 and len(reasons) > TEXTS // 4, "both sides are tried"


def test_null_and_nothing_are_null(spark: SparkSession) -> None:
    values = [(around % "null").encode() for around, _, _ in PLACES]
    rows, misfits = split(columns_for(FIELDS.format("TIMESTAMP")), records(spark, *values, b"{}"))
    assert misfits.count() == 0
    found = {row["offset"]: row for row in rows.toArrow().to_pylist()}
    assert [value_in(found[n]) for n, (_, _, value_in) in enumerate(PLACES)] == [None] * len(PLACES)
    assert [found[len(PLACES)][name] for name in "tslmo"] == [None] * 5


def test_a_local_time_is_no_number_and_has_no_zone(spark: SparkSession) -> None:
    values = (b'{"t":1772452800000}', b'{"t":"9999-12-31T23:00-05:00"}', b'{"t":"0000-01-01"}')
    _, misfits = split(columns_for("t TIMESTAMP_NTZ"), records(spark, *values))
    assert [row.reason for row in misfits.orderBy("offset").collect()] == [
        "field t is BIGINT, not TIMESTAMP_NTZ: 1772452800000",
        "field t is STRING, not TIMESTAMP_NTZ: 9999-12-31T23:00-05:00",
        "field t is STRING, not TIMESTAMP_NTZ: 0000-01-01",
    ]


def test_a_key_is_judged_too(spark: SparkSession) -> None:
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    columns = Columns(Raw(), Json(parse_schema("x", "d DATE"), name="key"))
    frame = records(spark, b"v", key=b'{"d":"2026-11-28"}')
    rows, misfits = split(columns, frame.unionAll(records(spark, b"v", key=b'{"d":"20261128"}')))
    assert [row.key.d for row in rows.collect()] == [date(2026, 11, 28)]
    assert [row.reason for row in misfits.collect()] == ["field d is STRING, not DATE: 20261128"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_the_sessions_zone_changes_no_value(spark: SparkSession, zone: str) -> None:
    """`--conf` has the last word of the session's settings: not of what a time means."""
    texts = ("2026-03-29T02:30:00", "2026-11-28", "1883-11-18T12:03:58", "2026-11-28 12:30:00-05")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = records(spark, *(f'{{"t":"{text}"}}'.encode() for text in texts))
        rows, _ = split(columns_for("t TIMESTAMP"), frame)
        found = [row.micros for row in rows.selectExpr("unix_micros(t) AS micros").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert [EPOCH + timedelta(microseconds=one) for one in found] == [
        meant(json.dumps(text), "TIMESTAMP") for text in texts
    ]


FIRST = (date(1, 1, 1), datetime(1, 1, 1, tzinfo=UTC), datetime(1, 1, 1))
LAST_TIME = datetime(9999, 12, 31, 23, 59, 59, 999_999)
LAST = (LAST_TIME.date(), LAST_TIME.replace(tzinfo=UTC), LAST_TIME)
BOUNDS = (
    b'{"d":"0001-01-01","t":"0001-01-01T00:00:00Z","n":"0001-01-01 00:00:00"}',
    b'{"d":"9999-12-31","t":"9999-12-31T23:59:59.999999Z","n":"9999-12-31 23:59:59.999999"}',
)
BEYOND = (
    b'{"t":-62135596801}',
    b'{"t":253402300800}',
    b'{"d":"0000-12-31"}',
    b'{"d":"10000-01-01"}',
)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_every_reader_has_the_bounds(spark: SparkSession, form: str, tmp_path: Path) -> None:
    from pipeline.tables.progress import KEY, ROWS, Progress
    from pipeline.tables.table import open_table

    frame = records(spark, *BOUNDS, *BEYOND)
    rows, misfits = split(columns_for("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ"), frame)
    assert misfits.count() == len(BEYOND)
    path = tmp_path / "t"
    table = open_table(spark, form, str(path))
    progress = Progress("t", "c", 0, {}, {}, ROWS)
    table.create(rows.schema, {KEY: progress.text()})
    table.append(rows, progress.following({0: 0}, {0: len(BOUNDS) + len(BEYOND)}))
    arrow = by_arrow(form, path)
    found = [(row["d"], row["t"], row["n"]) for row in arrow.to_pylist()]
    assert sorted(found, key=lambda row: row[0]) == [FIRST, LAST]
    assert by_pandas(arrow) == [FIRST, LAST]
    assert by_duckdb(arrow) == [tuple(map(str, FIRST)), tuple(map(str, LAST))]
    again = table.read().select("d", "t", "n").orderBy("d").toArrow().to_pylist()
    assert [tuple(row.values()) for row in again] == [FIRST, LAST]


def by_arrow(form: str, path: Path) -> pyarrow.Table:
    """By deltalake, by PyIceberg, or by Arrow itself."""
    import pyarrow.dataset

    from tests.compat.table_kills.readers import ROWS

    names = ["d", "t", "n"]
    if form in ROWS:
        return ROWS[form](path, names)
    files = [str(file) for file in path.rglob("*.parquet")]
    return pyarrow.dataset.dataset(files, format="parquet").to_table(columns=names)


def by_pandas(arrow: pyarrow.Table) -> list[tuple[Any, ...]]:
    """As its timestamps in µs."""
    frame = arrow.to_pandas().sort_values("d")
    return [
        (row.d, row.t.to_pydatetime(), row.n.to_pydatetime()) for row in frame.itertuples(False)
    ]


def by_duckdb(arrow: pyarrow.Table) -> list[tuple[str, ...]]:
    """As the texts that Python would give."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        asked = "SELECT d, t, n FROM arrow ORDER BY d"
        found = connection.sql(asked).fetchall()
    return [(str(d), str(t.astimezone(UTC)), str(n)) for d, t, n in found]
