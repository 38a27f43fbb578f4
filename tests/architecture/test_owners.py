"""An object's attributes are assigned where its class stands, and a class stands in one file.

Refused: an attribute that two files of one inheritance chain assign (a class cut in two), and an
assignment to an attribute of an object whose class belongs to another file. A record that assigns
none of its fields itself may be filled in by one other file; messages by anybody.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.architecture.assignments import VALUES, Project
from tests.architecture.sources import PIPELINE, ROOT, relative, sources

LEFT = {"UnifiedLog": 2}
"""How many attributes of a class are still assigned elsewhere; numbers only fall. A partition says
of its log whether others copy it, and how far all have it, where a call would be felt."""
NOT_FOLLOWED_MAX = 12
"""Assignments to objects whose class the text does not tell."""


def project() -> Project:
    paths = [p for p in sources(generated=True) if not relative(p).startswith(f"{PIPELINE}/")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    texts = [path.read_text() for path in paths]
    return Project(zip(names, map(relative, paths), texts, strict=True))


def found_in(project: Project) -> dict[str, set[str]]:
    """By name of a class: its attributes that are assigned in the wrong place."""
    files: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in project.assignments:
        if one.owner is not None and not one.owner.startswith(VALUES):
            files[one.owner][one.attribute].add(one.file)
    found: dict[str, set[str]] = defaultdict(set)
    for name, attributes in files.items():
        found[name] |= from_outside(project.classes[name].file, attributes)
    for name in leaves(project):
        found[name] |= cut_in_two([files[one.name] for one in project.ancestry(name)])
    return {name.rpartition(".")[2]: attributes for name, attributes in found.items() if attributes}


def from_outside(file: str, attributes: dict[str, set[str]]) -> set[str]:
    """Attributes of a class that stands in `file` that others assign."""
    every = {one for files in attributes.values() for one in files}
    if file not in every and len(every) == 1:
        return set()
    return {name for name, files in attributes.items() if files - {file}}


def cut_in_two(chain: list[dict[str, set[str]]]) -> set[str]:
    """Attributes that more than one file assigns for the classes that one inherits from."""
    joined: dict[str, set[str]] = defaultdict(set)
    for attributes in chain:
        for name, files in attributes.items():
            joined[name] |= files
    return {name for name, files in joined.items() if len(files) > 1}


def leaves(project: Project) -> list[str]:
    """Classes with ancestors of ours and without heirs: who sees a chain whole."""
    inherited = {one.name for name in project.classes for one in project.ancestry(name)[1:]}
    return [
        name
        for name in project.classes
        if name not in inherited and len(project.ancestry(name)) > 1 and not name.startswith(VALUES)
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)  # it reads all sources: beside busy processes that takes minutes
def test_attributes_are_assigned_where_their_class_stands() -> None:
    whole = project()
    found = found_in(whole)
    assert {name: sorted(a) for name, a in found.items() if len(a) > LEFT.get(name, 0)} == {}
    lost = [f"{one.file}:{one.line}" for one in whole.assignments if one.owner is None]
    assert len(lost) <= NOT_FOLLOWED_MAX, lost


# --- the check sees what it looks for -------------------------------------------------------------

ROOM = """
class Room:
    lamp: Lamp
    rooms: dict[str, Room]

    def __init__(self) -> None:
        self.light = 0

class Lamp:
    def __init__(self) -> None:
        self.lit = False

class Note:
    text: str
    room: Room

def find(name: str) -> Room | None: ...
"""


def seen(user: str, room: str = ROOM) -> dict[str, set[str]]:
    sources = [("house.room", "house/room.py", room), ("house.user", "house/user.py", user)]
    return found_in(Project(sources))


@pytest.mark.parametrize(
    "body",
    [
        "def f(room: Room) -> None:\n    room.light = 1",
        "def f(room: Room | None) -> None:\n    room.light += 1",
        "def f(room: 'Room') -> None:\n    del room.light",
        "def f(room: Room) -> None:\n    for room.light in (1, 2): pass",
        "def f(room: Room) -> None:\n    a, (room.light, b) = g()",
        "def f(note: Note) -> None:\n    note.room.light = 1",
        "def f(rooms: list[Room]) -> None:\n    for room in rooms:\n        room.light = 1",
        "def f(rooms: dict[str, Room]) -> None:\n    for a, room in rooms.items():\n"
        "        room.light = 1",
        "def f(room: Room) -> None:\n    room.rooms['a'].light = 1",
        "def f(thing: object) -> None:\n    if isinstance(thing, Room):\n        thing.light = 1",
        "def f() -> None:\n    room = Room()\n    room.light = 1",
        "def f() -> None:\n    if room := find('hall'):\n        room.light = 1",
        "def f() -> None:\n    setattr(Room(), 'light', 1)",
        "class A:\n    def __init__(self, room: Room) -> None:\n        self._room = room\n"
        "    def f(self) -> None:\n        self._room.light = 1",
        "class A:\n    def __init__(self) -> None:\n        self._room = Room()\n"
        "    def f(self) -> None:\n        def g() -> None:\n            self._room.light = 1",
        "class A:\n    @property\n    def room(self) -> Room: ...\n"
        "def f(a: A) -> None:\n    a.room.light = 1",
        "class A(Room):\n    def f(self) -> None:\n        self.light = 1",
    ],
)
def test_an_assignment_from_another_file_is_seen(body: str) -> None:
    found = seen(f"from house.room import Note, Room, find\n{body}")
    assert list(found.values()) == [{"light"}]


def test_an_assignment_through_a_modules_name_is_seen() -> None:
    assert seen("from house import room as r\ndef f(one: r.Lamp): one.lit = True") == {
        "Lamp": {"lit"}
    }


def test_what_is_hidden_behind_dict_is_seen() -> None:
    source = "from house.room import Room\ndef f(room: Room):\n    room.__dict__"
    assert seen(f"{source}['light'] = 1") == seen(f"{source}.update(light=1)") == {"Room": {"*"}}


def test_a_record_may_be_filled_in_by_one_file_only() -> None:
    source = "from house.room import Note\ndef f(note: Note):\n    note.text = 'to let'"
    assert seen(source) == {}
    assert seen(source, f"{ROOM}\ndef g(note: Note):\n    note.text = ''") == {"Note": {"text"}}


def test_what_stays_at_home_is_not_refused() -> None:
    assert seen("class A:\n    def f(self) -> None:\n        self.light = 1") == {}
    assert seen("", f"{ROOM}\ndef g(room: Room):\n    room.light = 1") == {}
    message = ("protocol.messages.fetch", "fetch.py", "class Answer:\n    error: int")
    user = "from protocol.messages.fetch import Answer\ndef f(a: Answer):\n    a.error = 1"
    assert found_in(Project([message, ("house.user", "house/user.py", user)])) == {}


@pytest.mark.parametrize("parameter", ["room", "room: Any"])
def test_what_cannot_be_followed_is_listed(parameter: str) -> None:
    text = f"from typing import Any\ndef f({parameter}):\n    room.light = 1"
    project = Project([("house.user", "house/user.py", text)])
    assert [(one.owner, one.line) for one in project.assignments] == [(None, 3)]
