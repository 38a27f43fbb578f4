from __future__ import annotations

import pytest

from broker.coordinator.pattern_steps import count_steps

MOST = 50_000
"""The default of `ottla.regex.max.steps`."""
ENDLESS = 10**12


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 2),
        ("\ud800", 3),
        ("(?i)abc", 12),
        ("a|b", 14),
        ("^a$", 13),
        (r"a\.b", 8),
        (r"\d", 15),
        (r"\D", 40),
        (r"\x{1F600}", 6),
        (r"\Qa.b|\E", 4),
        ("a*", 31),
        ("ab{3}", 4),
        ("a{2,4}", 4 + 2 * 30),
        ("a{2,}", 2 + 30),
        ("a{0}", 1),
        ("a{0,0}", 1),
        ("(ab)", 12),
        ("(ab){10}", 120),
        ("(?:a{10}){10}", 200),
        ("x(a(b|c){2}){3}y", 1 + 3 * (1 + 2 * 24 + 10) + 1),
        ("(?P<name>a)+", 41),
        (".", 40),
        ("[a-z]", 15 + 25),
        ("[^a]", 40 + 20),
        ("[]a]{2}", 2 * (15 + 20)),
        (r"[\]]", 40 + 20),
        ("[[:alpha:]]", 15 + 55),
        (r"\pL", 5_000),
        (r"\P{Greek}{3}", 15_000),
        (r"[^\pL\p{N}]", 40 + 55 + 10_000),
        ("{,3}", 14),
    ],
)
def test_each_construct_has_its_weight(pattern: str, steps: int) -> None:
    assert count_steps(pattern, ENDLESS) == steps


BOMBS = {
    "unicode classes": r"\pL" * 10_000,
    "what is none": r"\PL" * 10_000,
    "eleven are enough": r"\pL" * 11,
    "a class of them": r"[^\pL]" * 5_000,
    "in one class": "[" + r"\pL" * 10_000 + "]",
    "in any case": "(?i)" + r"[\pL\pN]" * 3_700,
    "as alternatives": "|".join([r"\pL"] * 7_500),
    "repeated": r"(\pL{10}){10}",
    "named": r"\p{Greek}" * 3_000,
    "maybe": "a?" * 15_000,
    "maybe a thousand times": "a{0,1000}" * 30,
    "nested": "(a{0,30}){0,30}" * 10,
    "at least": "a{1000}" * 4_000,
    "often maybe": "(a?){1000}" * 30,
    "classes": "(?i)[a-z]" * 6_000,
    "sets": r"\w" * 15_000,
    "empty groups": "()" * 15_000,
    "any letter": "." * 30_000,
    "anchors": "^" * 30_000,
}
USED = {
    "hundreds of names": "^(" + "|".join(f"topic-number-{n:08d}" for n in range(1_300)) + ")$",
    "names of 249 letters": "^(" + "|".join(f"{n:05d}" + "x" * 244 for n in range(125)) + ")$",
    "prefixes": "|".join(rf"team-{n:04d}\..*" for n in range(400)),
    "any name": ".*",
    "length": "[a-zA-Z0-9._-]{1,249}",
    "letters of any script": r"^[\p{L}\p{N}._-]+$",
    "thousand letters": ".{1000}",
    "up to a thousand": "a{0,1000}",
    "any case": "(?i)^(" + "|".join(f"Orders-{n}" for n in range(500)) + ")$",
    "literally": r"\Q" + "a.b" * 5_000 + r"\E",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_hold_the_loop_has_too_many_steps(name: str) -> None:
    assert count_steps(BOMBS[name], MOST) > MOST


@pytest.mark.parametrize("name", USED)
def test_what_clients_send_has_not(name: str) -> None:
    assert len(USED[name].encode()) < 32_767
    assert count_steps(USED[name], MOST) <= MOST


def test_the_walk_ends_where_there_are_too_many() -> None:
    assert MOST < count_steps(r"\pL" * 10_000, MOST) <= MOST + 5_000
    assert MOST < count_steps("(a" * 10_000, MOST) <= MOST + 10


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "[[:",
        "[a",
        r"\Q",
        r"\x{",
        r"\p{",
        "(?P<",
        "(?<a",
        "(?",
        "(?a",
        "{1",
        "{1,",
        "\\",
        "|",
        ")",
    ],
)
def test_no_text_is_walked_over_again_and_again(piece: str) -> None:
    """Each would take minutes if the walk went back at every piece."""
    for text in (piece * (500_000 // len(piece)), piece * (500_000 // len(piece)) + "!"):
        count_steps(text, ENDLESS)
