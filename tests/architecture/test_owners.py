"""An object's attributes are assigned in the file of its class.

Refused: an attribute that two files of one inheritance chain assign (a class cut in two), and an
assignment to an attribute of an object whose class is in another file. One other file may assign
the fields of a record that assigns none of them itself; any file may fill in messages.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.architecture.assignments import VALUES, Project
from tests.architecture.sources import PIPELINE, ROOT, relative, sources

LEFT = {"UnifiedLog": 2}
"""The number of attributes of a class that other files still assign; numbers only fall.

A partition sets in its log whether replicas copy it and how far all of them have it: a call would
be too slow there.
"""
NOT_FOLLOWED_MAX = 12
"""The most assignments to objects whose class the text does not show."""


def project() -> Project:
    paths = [p for p in sources(generated=True) if not relative(p).startswith(f"{PIPELINE}/")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    texts = [path.read_text() for path in paths]
    return Project(zip(names, map(relative, paths), texts, strict=True))


def found_in(project: Project) -> dict[str, set[str]]:
    """Return, by name of a class, the attributes that a wrong file assigns."""
    files: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for assignment in project.assignments:
        if assignment.owner is not None and not assignment.owner.startswith(VALUES):
            files[assignment.owner][assignment.attribute].add(assignment.file)
    misplaced: dict[str, set[str]] = defaultdict(set)
    for name, attributes in files.items():
        misplaced[name] |= from_outside(project.classes[name].file, attributes)
    for name in leaves(project):
        misplaced[name] |= cut_in_two([files[cls.name] for cls in project.ancestry(name)])
    return {
        name.rpartition(".")[2]: attributes for name, attributes in misplaced.items() if attributes
    }


def from_outside(file: str, attributes: dict[str, set[str]]) -> set[str]:
    """Return the attributes that other files assign, of a class in `file`."""
    assigning = {path for files in attributes.values() for path in files}
    if file not in assigning and len(assigning) == 1:
        return set()
    return {name for name, files in attributes.items() if files - {file}}


def cut_in_two(chain: list[dict[str, set[str]]]) -> set[str]:
    """Return the attributes that more than one file assigns, among the classes of a chain."""
    joined: dict[str, set[str]] = defaultdict(set)
    for attributes in chain:
        for name, files in attributes.items():
            joined[name] |= files
    return {name for name, files in joined.items() if len(files) > 1}


def leaves(project: Project) -> list[str]:
    """Return the classes with ancestors in the project and no subclasses: the ends of chains."""
    inherited = {
        ancestor.name for name in project.classes for ancestor in project.ancestry(name)[1:]
    }
    return [
        name
        for name in project.classes
        if name not in inherited and len(project.ancestry(name)) > 1 and not name.startswith(VALUES)
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)  # reading all sources takes minutes on a busy machine
def test_attributes_are_assigned_where_their_class_stands() -> None:
    whole = project()
    misplaced = found_in(whole)
    assert {
        name: sorted(attributes)
        for name, attributes in misplaced.items()
        if len(attributes) > LEFT.get(name, 0)
    } == {}
    unknown = [f"{wrong.file}:{wrong.line}" for wrong in whole.assignments if wrong.owner is None]
    assert len(unknown) <= NOT_FOLLOWED_MAX, unknown


# --- the check finds misplaced assignments --------------------------------------------------------

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
    assert [(assignment.owner, assignment.line) for assignment in project.assignments] == [
        (None, 3)
    ]
