"""JAAS texts: what Apache Kafka took and refused, each asked of its own parser."""

from __future__ import annotations

import pytest

from broker.config.security.jaas import JaasError, parse_jaas

TAKEN = [
    ('a.B required k="v";', {"k": "v"}),
    ("a.B required k=v;", {"k": "v"}),
    ("a.B required k='v;=,';", {"k": "v;=,"}),
    ('a.B required\n  k="v"\n  l="w";\n', {"k": "v", "l": "w"}),
    ("a.B required;", {}),
    ('a.B REQUIRED k="v";', {"k": "v"}),
    ('a.B sufficient k="v";', {"k": "v"}),
    ('a.B optional k="v";', {"k": "v"}),
    ('a.B requisite k="v";', {"k": "v"}),
    ('a.B required k="a\\"b\\\\c\\n\\t\\101\\x\\777";', {"k": 'a"b\\c\n\tAx?7'}),
    ('// c\na.B required k="v";', {"k": "v"}),
    ('/* c */ a.B required /* d */ k="v"; // end', {"k": "v"}),
    ("a.B required k=a12;", {"k": "a12"}),
    ("a.B required k=a.b-c_d$e;", {"k": "a.b-c_d$e"}),
    ("a.B required k=a/b\n;", {"k": "a"}),
    ('a.B required "k x"="v";', {"k x": "v"}),
    ('a.B required k ="v" l= "w";', {"k": "v", "l": "w"}),
    ('a.B required k="v" k="w";', {"k": "w"}),
    ('"a.B" required k="v";', {"k": "v"}),
    ('a.B required k="";', {"k": ""}),
    ('a.B required k="ü";', {"k": "ü"}),
    ("a.B required ü=v;", {"ü": "v"}),
    ("a.B required k=true;", {"k": "true"}),
    (
        'a.B required user_a-b="x" user_1="y" user_a.b="z";',
        {"user_a-b": "x", "user_1": "y", "user_a.b": "z"},
    ),
    ('a.B required k="v"l="w";', {"k": "v", "l": "w"}),
    ('a$B required k="v";', {"k": "v"}),
    ('a.B required k="\\u0041\\0";', {"k": "u0041\x00"}),
    ('a.B required k="\\8\\08";', {"k": "8\x008"}),
    ("a.B required k='a\"b' l=\"c'd\";", {"k": 'a"b', "l": "c'd"}),
    ('a.B required k="v"\r\n;', {"k": "v"}),
    ('a.B required k="\\378\\400";', {"k": "\x1f8 0"}),
    ("a.B required k=_x l=$y;", {"k": "_x", "l": "$y"}),
    ('a.B required k="a\\\nb";', {"k": "a\nb"}),
    ('a.B required k="v";/', {"k": "v"}),
]
REFUSED = [
    "a.B required",
    "",
    "   ",
    "a.B",
    "a.B needed;",
    "a.B required k;",
    "a.B required k=;",
    'a.B required k="v" ; a.C required;',
    'a.B required k="un;',
    'a.B required k="line\nbreak";',
    'a.B required k="v"; # tail',
    "# x\na.B required;",
    "a.B required k=123;",
    "a.B required k=12ab;",
    "a.B required k=a@b;",
    'KafkaServer { a.B required k="v"; };',
    'a.B required k="v";;',
    'a.B required k="v",l="w";',
    'a.B required user_a@b="x";',
    'a.B required 5k="v";',
    'a.B required -k="v";',
    'a.B required k="v" l="w" "q";',
    "a.B required k=-;",
    "a.B required k=-5;",
    "a.B required k=.5;",
    'a.B required k="1"; ;',
    " ; ",
    'a.B required {k="v"};',
    "a.B required k==v;",
    'a.B required k="v"=w;',
    'required k="v";',
    'a.B required k="v"/;',
]


@pytest.mark.parametrize(("text", "options"), TAKEN)
def test_what_kafka_takes_is_taken_as_kafka_reads_it(text: str, options: dict[str, str]) -> None:
    entry = parse_jaas(text)
    assert entry.login_module.startswith("a")
    assert {name: value.value for name, value in entry.options.items()} == options


@pytest.mark.parametrize("text", REFUSED)
def test_what_kafka_refuses_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_jaas(text)
    assert "\n" not in str(refused.value)


def test_no_error_repeats_a_piece_of_the_text() -> None:
    """A quote that is missing makes a piece of a password look like a name or a flag."""
    texts = [
        'a.B required password="hush"hush";',
        "a.B required password=hush hush;",
        "a.B hush;",
        'a.B required password="hush',
        '"hush" hush password="hush";',
        'a.B required password="hush"; a.B required password="hush";',
    ]
    for text in texts:
        with pytest.raises(JaasError) as refused:
            parse_jaas(text)
        assert "hush" not in str(refused.value)


def test_a_section_of_a_jaas_file_is_named() -> None:
    with pytest.raises(JaasError, match="section of a JAAS file"):
        parse_jaas('\nKafkaServer {\n  a.B required username="u";\n};')


def test_options_hide_their_values() -> None:
    assert "hush" not in repr(parse_jaas('a.B required password="hush";'))
