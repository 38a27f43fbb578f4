"""The standard authorizer beside the reference, on random sets of ACLs.

Owns the comparison: `compare` gives what they disagree about, and how often each answer came. The
image of the ACLs is made as a node makes it, entry by entry, some of them gone again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from tests.authorization.random_acls import SUPER_USER, Case, Question, case, entry
from tests.authorization.reference import Entry, Reference

Judge = Callable[[AclsImage, bool], StandardAuthorizer]


@dataclass
class Compared:
    """What came of it."""

    disagreed: list[tuple[Case, Question, bool]] = field(default_factory=list)
    """The last: what the reference says."""
    answers: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    """(whether it was asked about any name, the answer) → how often."""


def standard(acls: AclsImage, everyone: bool) -> StandardAuthorizer:
    return StandardAuthorizer(lambda: acls, [SUPER_USER], everyone)


def compare(seed: int, count: int, judge: Judge = standard, *, stops: bool = False) -> Compared:
    """`count` sets, drawn with `seed`; `stops`: up to the first that they disagree about."""
    chance, compared = random.Random(seed), Compared()
    for _ in range(count):
        if stops and compared.disagreed:
            break
        drawn = case(chance)
        reference = Reference(drawn.entries, [SUPER_USER], drawn.everyone)
        judged = judge(image_of(drawn.entries, chance), drawn.everyone)
        for question in drawn.questions:
            expected = _of_reference(reference, question)
            compared.answers[question.name is None, expected] += 1
            if answer(judged, question) is not expected:
                compared.disagreed.append((drawn, question, expected))
    return compared


def _of_reference(reference: Reference, asked: Question) -> bool:
    who, host, operation, resource = asked.who, asked.host, asked.operation, asked.resource
    if asked.name is None:
        return reference.allows_some(who, host, operation, resource)
    return reference.allows(who, host, operation, resource, asked.name)


def answer(judge: StandardAuthorizer, asked: Question) -> bool:
    """What the authorizer says to a question."""
    asker = Asker(asked.who, asked.host, "PLAINTEXT", "PLAINTEXT", None, 0, 0)
    operation, resource = Operation(asked.operation), Resource(asked.resource)
    if asked.name is None:
        return judge.judge_any(asker, operation, resource).allowed
    return judge.judge(asker, Action(operation, resource, asked.name)).allowed


def image_of(entries: tuple[Entry, ...], chance: random.Random) -> AclsImage:
    """The image of just these, by changes in some order: others came and went meanwhile."""
    resources = tuple({one[0] for one in entries}) or (2,)
    wanted = {number.to_bytes(16): Acl(*one) for number, one in enumerate(entries)}
    others = {
        (1000 + number).to_bytes(16): Acl(*entry(chance, resources))
        for number in range(chance.choice((0, 0, 1, 3)))
    }
    everything = [*wanted.items(), *others.items()]
    chance.shuffle(everything)
    image = AclsImage()
    while everything:
        several = chance.randint(1, 3)
        image = image.changed(dict(everything[:several]))
        del everything[:several]
    return image.changed(dict.fromkeys(others))
