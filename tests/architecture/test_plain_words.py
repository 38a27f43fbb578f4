"""Sentences and names are clear at the first reading, in the rooms that are done."""

from __future__ import annotations

import tomllib

import pytest

from tests.architecture.sources import ROOT, nodes, relative, sources
from tests.tools.plain_words import page_riddles, riddles
from tests.tools.same_code import Changed, compare, paired_files

RUFF = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
TO_DO = tuple(
    place.rstrip("*")
    for place, rules in RUFF["per-file-ignores"].items()
    if "D401" in rules and not place.startswith("tests")
)
"""The rooms whose words are still to be rewritten; ruff's D401 leaves them out as well."""
HELD_TESTS = (
    "bench/**/*.py",
    "tests/*.py",
    "tests/architecture/**/*.py",
    "tests/clients/**/*.py",
    "tests/messages/**/*.py",
    "tests/plugins/**/*.py",
    "tests/tools/**/*.py",
)
"""The files beside the packages whose words are done; ruff's D401 is off for all tests."""


def test_no_riddles_in_docstrings_comments_and_names() -> None:
    done = [path for path in sources() if not relative(path).startswith(TO_DO)]
    tests = [path for pattern in HELD_TESTS for path in sorted(ROOT.glob(pattern))]
    places = [
        f"{relative(path)}:{riddle.line}: {riddle.form}: {riddle.text}"
        for path in (*done, *tests)
        for riddle in riddles(path.read_text(), nodes(path))
    ]
    assert places == []


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('class A:\n    """Of one broker."""', "a beginning without its noun"),
        ('def f():\n    """The end of the log."""', "a function without a verb"),
        ('class A:\n    x = 1\n    """Its name."""', "fewer than three words"),
        ('"""A log that is opened anew."""', "a docstring's word"),
        ("x = 1  # whoever asks", "a comment's word"),
        ("def f(one):\n" + "    pass\n" * 12, "an empty name"),
    ],
)
def test_the_forms_of_a_riddle(text: str, form: str) -> None:
    assert form in [riddle.form for riddle in riddles(text)]


def test_sentences_that_are_no_riddles() -> None:
    text = (
        'class A:\n    """A batch of records."""\n\n    @property\n    def end(self):\n'
        '        """The offset behind the last record."""\n\n    def close(self):\n'
        '        """Return the bytes that were left."""\n        one = 1\n        return one\n'
    )
    assert list(riddles(text)) == []
    assert list(page_riddles("Who: a client. If a login is rejected, a line says why.")) == []


OLD = """
class Group:
    "Of members."
    __slots__ = ("_one",)
    def expire(self, one: int) -> list[Told]:
        "What is told."
        self._one = one
        return [found for found in one]
"""
NEW = """
class Group:
    __slots__ = ("_members",)
    def expire(self, members: Members) -> list[Member]:
        self._members = members
        return [member for member in members]
"""


def test_other_words_are_the_same_code() -> None:
    assert compare(OLD, NEW) == {
        ("_one", "_members"): 1,
        ("one", "members"): 1,
        ("found", "member"): 1,
    }


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("for member in members]", "for member in members if member]"),
        ("member for member", "members for member"),
        ("self, members", "self, *, members"),
        ("self._members = members", "self._members = self"),
    ],
)
def test_other_code_is_noticed(words: str, others: str) -> None:
    with pytest.raises(Changed):
        compare(OLD, NEW.replace(words, others))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("X = 1\n'What is told.'\nY = X", "X = 1\nY = X", id="a constant's docstring"),
        pytest.param(
            "def f(a, b):\n    return lambda: (a, b)",
            "def f(two, first):\n    return lambda: (two, first)",
            id="closure variables in another alphabetical order",
        ),
        pytest.param(
            "import a\nfrom m import Asked, Found\nx = Asked, Found",
            "from m import Found, Question\nimport a\nx = Question, Found",
            id="imports in another order",
        ),
        pytest.param(
            "x = [one for one in a] + [it for it in b]",
            "x = [part for part in a] + [part for part in b]",
            id="expressions that become equal",
        ),
        pytest.param("from told import x\nx", "from lines import x\nx", id="a renamed module"),
    ],
)
def test_what_follows_from_other_words_is_the_same_code(old: str, new: str) -> None:
    compare(old, new, {"told": "lines"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("X = 1", "X = 1\nf'text'"),
        ("def _a(): pass\nf'{x}_a'", "def _b(): pass\nf'{x}_b'"),  # a metric's name, say
        ("def f(a, b):\n    return lambda: (a, b)", "def f(a, b):\n    return lambda: (b, a)"),
        ("def f(a, b):\n    return lambda: a", "def f(a, b):\n    return lambda: b"),
        ("from m import a, b\nx = a, b", "from m import a, b\nx = a, a"),
        ("from m import a\na", "from n import a\na"),
        ("import a\na", "import a\nimport b\na"),
    ],
)
def test_other_closures_and_imports_are_noticed(old: str, new: str) -> None:
    with pytest.raises(Changed):
        compare(old, new)


def test_files_are_paired_by_their_name_or_as_the_command_says() -> None:
    deleted, added = ["a/log.py", "a/told.py"], ["a/lines.py", "b/log.py"]
    pairs = [("a/log.py", "b/log.py"), ("a/told.py", "a/lines.py")]
    assert list(paired_files(deleted, added, {"a/told.py": "a/lines.py"})) == pairs
    with pytest.raises(Changed):
        list(paired_files(deleted, added, {}))
