"""Cases of Kafka's system tests: their names, the list that ducktape prints, and the suite.

A case is a test function with parameters. Its line, in `suite.txt` and elsewhere, is
`kafkatest/FILE::CLASS.FUNCTION@{"json": "parameters"}`. The suite has one case for each function
and group protocol. Runs nothing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITE = Path(__file__).parent / "suite.txt"
HEADER = "# Written by `python -m tests.kafkatest --write-suite`, from Kafka's branch {branch}.\n"
_COLLECTED = re.compile(
    r"<module=([\w.]+), cls=(\w+), function=(\w+), injected_args=(.*), file=\S+, ignore=(\w+),"
)
_LINE = re.compile(r"(\S+\.py)::(\w+)\.(\w+)(?:@(\{.*\}))?")


@dataclass(frozen=True, order=True)
class Case:
    """A test function of Kafka, with the parameters of a run."""

    file: str
    cls: str
    function: str
    parameters: str = ""
    """An object of JSON, empty without parameters."""

    @classmethod
    def parse(cls, line: str) -> Case:
        """Return the case of a line. Raises ValueError for another form."""
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"not FILE::CLASS.FUNCTION@{{PARAMETERS}}: {line}")
        return cls(match[1], match[2], match[3], match[4] or "")

    def __str__(self) -> str:
        """Return the case's line."""
        return self.symbol + (f"@{self.parameters}" if self.parameters else "")

    @property
    def symbol(self) -> str:
        """The name by which ducktape finds the function."""
        return f"{self.file}::{self.cls}.{self.function}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(json.loads(self.parameters)) if self.parameters else {}


@dataclass(frozen=True)
class CollectedCase:
    """A case that ducktape has found."""

    case: Case
    is_ignored: bool
    """True if the authors have switched the case off."""


def collected(output: str) -> Iterator[CollectedCase]:
    """Yield the cases in what `ducktape --collect-only` printed."""
    for module, cls, function, arguments, ignored in _COLLECTED.findall(output):
        values = ast.literal_eval(arguments)
        parameters = json.dumps(values) if values else ""
        case = Case(module.replace(".", "/") + ".py", cls, function, parameters)
        yield CollectedCase(case, ignored == "True")


def representatives(
    all_cases: Iterable[CollectedCase], why_not: Callable[[Case], str]
) -> list[Case]:
    """Return one case for each function, group protocol and version of transactions.

    A case that can run, for which `why_not` returns no reason, goes before another one, and
    isolated controllers before combined ones.
    """

    def rank(case: Case) -> tuple[bool, bool, Case]:
        isolated = case.arguments.get("metadata_quorum") == "ISOLATED_KRAFT"
        return bool(why_not(case)), not isolated, case

    kinds: dict[tuple[object, ...], Case] = {}
    cases = [it.case for it in all_cases if not it.is_ignored]
    for case in sorted(cases, key=rank):
        kinds.setdefault(_kind(case), case)
    return sorted(kinds.values())


def _kind(case: Case) -> tuple[object, ...]:
    arguments = case.arguments
    varying = (arguments.get("group_protocol"), arguments.get("use_transactions_v2"))
    return (case.symbol, *varying)


def read_suite() -> list[Case]:
    """Return the cases of `suite.txt`."""
    lines = SUITE.read_text().splitlines()
    return [Case.parse(line) for line in lines if line and not line.startswith("#")]


def write_suite(cases: Iterable[Case], branch: str) -> None:
    """Write the cases to `suite.txt`, under a line that names the branch."""
    SUITE.write_text(HEADER.format(branch=branch) + "".join(f"{case}\n" for case in cases))


def in_turns(cases: Iterable[Case]) -> list[Case]:
    """Return the cases so that each file has its first case before any file has its second."""
    places: dict[str, int] = {}
    order = []
    for case in cases:
        places[case.file] = places.get(case.file, -1) + 1
        order.append((places[case.file], case))
    return [case for _, case in sorted(order)]
