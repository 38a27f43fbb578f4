"""`ground.java_literals`: each answer is a running Kafka's, for a topic config of that text."""

from __future__ import annotations

import math

import pytest

from ground import java_literals as java

BLANK_FOR_PYTHON_ONLY = ("\u00a05", "\u20035", "\u30005", "\u20285", "\x855", "\x7f5")


def test_trimming_takes_blanks_and_control_characters_of_ascii() -> None:
    for text in (" 5 ", "\t5\n", "\x005", "5\x00", "\x1f5"):
        assert java.trim(text) == "5"
    for text in BLANK_FOR_PYTHON_ONLY:
        assert java.trim(text) == text
        assert java.integer(text, 32) is None
        assert java.double(text) is None


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        *((text, True) for text in ("true", "TRUE", "tRuE")),
        *((text, False) for text in ("false", "fAlSE", "fal\u017fe")),
        *((text, None) for text in ("", "1", "yes", "T", "truE.", "\uff54rue", "null")),
    ],
)
def test_truths(text: str, truth: bool | None) -> None:
    assert java.boolean(text) is truth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+5", 5),
        ("-5", -5),
        ("010", 10),
        ("0" * 5_000 + "7", 7),
        ("\u0663", 3),
        ("-\u0663", -3),
        ("\uff15", 5),
        ("2147483647", 2**31 - 1),
        ("-2147483648", -(2**31)),
    ],
)
def test_integers(text: str, value: int) -> None:
    assert java.integer(text, 32) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "-", "--5", "+-5", "1_000", "5d", "5L", "0x10", "1e3", "5.0", "null"),
        *("\u00b2", "\U0001d7d3", "2147483648", "-2147483649", "9" * 10_000),
    ],
)
def test_no_integers(text: str) -> None:
    assert java.integer(text, 32) is None


def test_the_largest_of_64_bits() -> None:
    assert java.integer("9223372036854775807", 64) == 2**63 - 1
    assert java.integer("9223372036854775808", 64) is None
    assert java.integer("-9223372036854775808", 64) == -(2**63)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1p-1", 0.5),
        ("0X1P-1", 0.5),
        ("-0x.8p0", -0.5),
        ("0x1.8p-1", 0.75),
        ("0x1.p-1d", 0.5),
        ("0x1p-1F", 0.5),
        ("0x1p+00000000000000000000000", 1.0),
        ("0x1p-1075", 0.0),
        ("0x1p-99999999999", 0.0),
        ("0x1p2000", math.inf),
        ("-0x1p2000", -math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1e99999999999", math.inf),
        (".5", 0.5),
        ("5.", 5.0),
        ("0.5f", 0.5),
        ("1d", 1.0),
        ("1e-1", 0.1),
    ],
)
def test_doubles(text: str, value: float) -> None:
    assert java.double(text) == value


@pytest.mark.parametrize("text", ["NaN", "+NaN", "-NaN"])
def test_what_is_not_a_number_is_one(text: str) -> None:
    assert math.isnan(java.double(text) or 0)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nan", "inf", "infinity", "NaNd", "InfinityF", "1_0", "1.0.0", "1e", "e1", "- 1"),
        *("0x1", "0xp1", "0x.p1", "0.5l", "1 d", "\u0660.\u0665", "true"),
    ],
)
def test_no_doubles(text: str) -> None:
    assert java.double(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (-0.0, "-0.0"),
        (1e-5, "1.0E-5"),
        (12345678.9, "1.23456789E7"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_for_people(value: float, text: str) -> None:
    assert java.double_text(value) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P1DT2H3M4.5S", 93_784.5),
        ("p1d", 86_400),
        ("P+1D", 86_400),
        ("+P1D", 86_400),
        ("-P-1D", 86_400),
        ("-P1DT-25H", 3_600),
        ("PT-1H+120M", 3_600),
        ("PT1,5S", 1.5),
        ("PT1.S", 1),
        ("PT-0S", 0),
        ("PT-0.5S", -0.5),
        ("P-1D", -86_400),
        ("PT1H-120M", -3_600),
        ("P1DT-25H", -3_600),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert java.duration_ns(text) == seconds * 10**9


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1", "P1S", "PT1D", "P1DT", "--P1D", "P1W", "P1M", "PT.5S", "PT0.5H"),
        *("PT1.1234567890S", "P106751991167301D", "PT9223372036854775808S", "P 1D", "P\u0663D"),
        *("PT1H2H", "PT1M1H", "PT0.-5S", " P1D"),
    ],
)
def test_no_durations(text: str) -> None:
    assert java.duration_ns(text) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["0", "0.", ".0", "1e", "0x", "0x1.", "-", "P1D", "PT1H", " "])
@pytest.mark.parametrize("end", ["!", "", "0", "p1!"])
def test_a_text_as_long_as_a_client_may_send_is_walked_over_once(piece: str, end: str) -> None:
    """30,000 zeros and a letter held the loop for 80 s."""
    text = piece * (32_000 // len(piece)) + end
    assert java.double(text) in (None, 0.0)
    assert java.integer(text, 64) in (None, 0)
    assert java.duration_ns(text) is None
