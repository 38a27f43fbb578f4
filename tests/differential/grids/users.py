"""SCRAM users: every wrong value alone, every pair of changes to one user, and what Describe tells.

Salts and salted passwords are any bytes here: neither broker asks how they were made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.differential.generate import Versions
from tests.differential.sequence import Body, Sequence, Step

MECHANISMS = (-128, -1, 0, 1, 2, 3, 127)
ITERATIONS = (-(2**31), -1, 0, 1, 4095, 4096, 4097, 16_383, 16_384, 16_385, 2**31 - 1)
NAMES = ("~u0", "", "~ b", "~a,b=c", "~café", "~U0", "~u0\u0000", {"$long": 32_000})
SALTS = ("", "00", "ff" * 40, "00" * 70_000)
SHA_256, SHA_512 = 1, 2

Change = tuple[str, Body]
"""`deletions` or `upsertions`, and one of them."""


def grid(_versions: Versions) -> Iterator[Sequence]:
    yield from _alone()
    yield from _pairs()
    yield from _several()
    yield from _replaced()
    yield from _described()


def _alone() -> Iterator[Sequence]:
    for name in NAMES:
        changes = [
            *(upsertion(name, mechanism, 4096) for mechanism in MECHANISMS),
            *(upsertion(name, SHA_256, iterations) for iterations in ITERATIONS),
            *(upsertion(name, 3, iterations) for iterations in (4095, 16_385)),
            *(deletion(name, mechanism) for mechanism in MECHANISMS),
            *(deletion(name, mechanism) for mechanism in MECHANISMS),
        ]
        steps = [step for one in changes for step in (alter(one), describe(name))]
        yield Sequence(f"user {name} with one wrong value", steps)
    for salt, salted in itertools.product(SALTS, SALTS):
        change = upsertion("~u0", SHA_512, salt=salt, salted=salted)
        at = f"{len(salt) // 2} and {len(salted) // 2} bytes"
        yield Sequence(f"salts of {at}", [alter(change), describe("~u0"), describe(None)])


def _pairs() -> Iterator[Sequence]:
    """Each two in a request, with and without a credential that is there before."""
    of_one: tuple[Change, ...] = (
        *(upsertion("~u0", mechanism) for mechanism in (SHA_256, SHA_512, 3)),
        *(upsertion("~u0", SHA_256, iterations) for iterations in (4095, 16_385, 5000)),
        *(deletion("~u0", mechanism) for mechanism in (SHA_256, SHA_512, 3)),
        upsertion("", SHA_256),
        deletion("", SHA_256),
        upsertion("~u1", SHA_256),
        deletion("~u1", SHA_256),
    )
    before = alter(upsertion("~u0", SHA_256))
    steps = []
    for first, second in itertools.product(of_one, of_one):
        for more in ((), (first,), (upsertion("~u0", SHA_256),)):
            steps += [alter(first, second, *more), describe("~u0", "~u1"), alter_away()]
            steps += [before, alter(first, second, *more), describe("~u0", "~u1"), alter_away()]
    for start in range(0, len(steps), 56):
        yield Sequence(f"two changes of a user, from {start}", steps[start : start + 56])


def _several() -> Iterator[Sequence]:
    many = [upsertion(f"~u{number}", 1 + number % 2) for number in range(40)]
    steps = [alter(*many), describe(None), alter(*(deletion(f"~u{n}", 1) for n in range(40)))]
    yield Sequence("many users", [*steps, describe(None), alter(), describe()])


def _replaced() -> Iterator[Sequence]:
    """Replace the only user by the next, for each name: what Kafka does depends on their hashes."""
    users = [f"~u{letter}" for letter in "abcdefghijklmnopqrs"]
    for before, after in itertools.pairwise(users):
        replace = alter(deletion(before), upsertion(after))
        away = alter(deletion(before), deletion(after))
        steps = [alter(upsertion(before)), replace, describe(before, after), away]
        yield Sequence(f"user {before} replaced by {after} in one request", steps)


def _described() -> Iterator[Sequence]:
    steps = [alter(upsertion("~u0", SHA_256), upsertion("~u1", SHA_512, 16_384))]
    steps.append(alter(upsertion("~u0", SHA_512, 5000)))
    names = ("~u0", "~u1", "~u9", "")
    for length in (1, 2, 3):
        steps += [describe(*some) for some in itertools.product(names, repeat=length)]
    yield Sequence("users described", [*steps, describe(None), describe()], setup=2)


def upsertion(
    name: str | Body,
    mechanism: int = SHA_256,
    iterations: int = 4096,
    salt: str = "0102",
    salted: str = "aa" * 32,
) -> Change:
    """A credential that is to be; bytes in hexadecimal."""
    one = {"name": name, "mechanism": mechanism, "iterations": iterations}
    return "upsertions", {**one, "salt": {"$hex": salt}, "salted_password": {"$hex": salted}}


def deletion(name: str | Body, mechanism: int = SHA_256) -> Change:
    """A credential that is to go."""
    return "deletions", {"name": name, "mechanism": mechanism}


def alter(*changes: Change) -> Step:
    """AlterUserScramCredentials."""
    body: Body = {"deletions": [], "upsertions": []}
    for kind, change in changes:
        body[kind].append(change)
    return Step("ALTER_USER_SCRAM_CREDENTIALS", 0, body)


def alter_away() -> Step:
    """One mechanism of each user goes."""
    return alter(deletion("~u0", SHA_256), deletion("~u1", SHA_256))


def describe(*names: str | Body | None) -> Step:
    """DescribeUserScramCredentials; of None: all of them."""
    users = None if names == (None,) else [{"name": name} for name in names]
    return Step("DESCRIBE_USER_SCRAM_CREDENTIALS", 0, {"users": users})
