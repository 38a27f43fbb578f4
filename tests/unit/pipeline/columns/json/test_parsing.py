"""Which texts are JSON, and what is kept of how they were written."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.json.parsing import (
    DEPTH_MAX,
    Fraction,
    JsonParser,
    NotJson,
    Refused,
    Whole,
    as_json,
    shown,
)

PARSER = JsonParser()
NO_JSON = (
    *("", " ", "nope", "NaN", "Infinity", "-Infinity", '{"a":NaN}', "[-Infinity]", "+1", "01"),
    *("1.", ".5", "-", "1e", "1e+", "0x1", "1_000", "--1", "١", '{"a":１}', "'a'", "{'a':1}"),
    *('{"a":1', '{"a":1}}', '{"a":1}{"b":2}', '{"a":1},', '{"a":1,}', "[1,]", "[,]", '{"a"}'),
    *('{"a":1} x', '{"a":1}\x00', '\ufeff{"a":1}', "\xa01", "1\u2028", "{a:1}", "/**/1", "1//"),
    *('"\n"', '"\t"', '"\x00"', '"\\x41"', '"\\u12"', '"\\u00zz"', '"a', "True", "nul", "[1 2]"),
)


@pytest.mark.parametrize("text", NO_JSON)
def test_what_the_grammar_lacks_is_no_json(text: str) -> None:
    with pytest.raises(NotJson):
        PARSER.parse(text)


def test_a_number_keeps_its_text() -> None:
    value = PARSER.parse(" [1, -0, 1.50, 1E5, 123456789012345678901234567890, 0.1e-400]\r\n\t")
    assert value == ["1", "-0", "1.50", "1E5", "123456789012345678901234567890", "0.1e-400"]
    assert isinstance(value, list)
    assert list(map(type, value)) == [Whole, Whole, Fraction, Fraction, Whole, Fraction]
    assert PARSER.parse('{"a":[true,false,null,"\\u00e9\\ud83d\\ude00\\/"]}') == {
        "a": [True, False, None, "é\U0001f600/"]
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":1,"b":2,"a":1}', "has the name a twice in one object"),
        ('[{"b":{"\\u0061":1,"a":1}}]', "has the name a twice in one object"),
        ('{"a":"\\ud83d"}', r"has half a character: \ud83d"),
        ('{"a":["x\\uDE00\\uD83D"]}', r"has half a character: \ude00"),
        ('{"\\ud83d\\u0041":1}', r"has half a character: \ud83d"),
        ("[" * 201 + "]" * 201, "has more than 200 objects or arrays inside each other"),
        ('{"a":' * 201 + "1" + "}" * 201, "has more than 200 objects or arrays inside each other"),
    ],
)
def test_what_no_row_can_be_made_of(text: str, words: str) -> None:
    with pytest.raises(Refused) as error:
        PARSER.parse(text)
    assert str(error.value) == words


def test_only_what_lies_inside_each_other_is_deep() -> None:
    assert PARSER.parse("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    wide = f"[{','.join(['[]'] * 1_000)}]"
    assert PARSER.parse(wide) == [[]] * 1_000
    brackets = '"' + "[" * 1_000 + '\\"["'
    assert PARSER.parse(brackets) == "[" * 1_000 + '"['
    assert PARSER.parse('"\\\\ud83d"') == "\\ud83d", "no escape"


def test_a_value_is_shown_as_it_was_written() -> None:
    value = PARSER.parse('{"a":[1.50,"é\\n",null,true], "q\\"":{}}')
    assert as_json(value) == '{"a":[1.50,"é\\n",null,true],"q\\"":{}}'
    assert shown("x" * 100) == "x" * 60 and shown(value) == as_json(value)
