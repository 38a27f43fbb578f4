"""Each API answers those who may not as Apache Kafka does, and no check can be left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from controller.authorization.rights import Judge, Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from protocol.api_keys import ApiKey
from tests.authorization.denials.conversation import ADMIN, Conversations
from tests.authorization.denials.explained import EXPLAINED, row_of
from tests.authorization.denials.kafka_side import recorded
from tests.authorization.denials.needs import ASKS_NOTHING, ROWS
from tests.authorization.denials.ottla_side import OttlaSide
from tests.authorization.denials.rows import ALICE, BROKER, CONTROLLER, EVERYTHING, Case, cases
from tests.differential.comparison import differences
from tests.differential.differences import rows

KAFKA = recorded()
CASES = tuple(cases(ROWS))
LISTENERS = {"PLAINTEXT": BROKER, "CONTROLLER": CONTROLLER}


class Check(NamedTuple):
    """What is asked by a request of one API; `some`: about some resource of that type."""

    api: str
    listener: str
    operation: Operation
    resource: Resource
    some: bool = False


class Recording:
    """Between the handlers and the authorizer: keeps what is asked, and may allow one check."""

    def __init__(self, judge: Judge, asked: set[Check], left_out: Check | None = None) -> None:
        self._judge = judge
        self._asked = asked
        self._left_out = left_out

    def judge(self, asker: Asker, action: Action) -> Verdict:
        check = self._check(asker, action.operation, action.resource)
        if check is not None and check == self._left_out:
            return Verdict(True, "left out")
        return self._judge.judge(asker, action)

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        check = self._check(asker, operation, resource, some=True)
        if check is not None and check == self._left_out:
            return Verdict(True, "left out")
        return self._judge.judge_any(asker, operation, resource)

    def _check(
        self, asker: Asker, operation: Operation, resource: Resource, some: bool = False
    ) -> Check | None:
        if asker.principal == f"User:{ADMIN}":
            return None
        listener = LISTENERS[asker.listener]
        check = Check(ApiKey(asker.api_key).name, listener, operation, resource, some)
        self._asked.add(check)
        return check


class Table:
    """The cases on one node."""

    def __init__(self) -> None:
        self.side = OttlaSide()
        self._conversations = Conversations(self.side, asks=self._asks)
        self._watches = False
        self._before: Any = None
        self._conversations.warm()
        self._kept: dict[str, tuple[Any, set[Check]]] = {}

    def told(self, case: Case) -> Any:
        """What a case is told."""
        return self._run_once(case)[0]

    def asked(self, case: Case) -> set[Check]:
        """What is asked of the authorizer meanwhile."""
        return self._run_once(case)[1]

    def told_without(self, case: Case, left_out: Check) -> Any:
        """What it is told where one check is left out."""
        return self._run(case, left_out)[0]

    def writes(self, case: Case) -> bool:
        """Whether anything is written for a case's question."""
        self._watches = True
        self._run(case)
        self._watches = False
        return bool(self.side.written() != self._before)

    def _asks(self) -> None:
        if self._watches:
            self._before = self.side.written()

    def _run_once(self, case: Case) -> tuple[Any, set[Check]]:
        if case.name not in self._kept:
            self._kept[case.name] = self._run(case)
        return self._kept[case.name]

    def _run(self, case: Case, left_out: Check | None = None) -> tuple[Any, set[Check]]:
        asked: set[Check] = set()
        self.side.judge_through(lambda judge: Recording(judge, asked, left_out))
        return self._conversations.run(case), asked


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    made = Table()
    yield made
    made.side.close()


APIS = sorted({(case.row.api, case.listener) for case in CASES})


def of(api: str, listener: str) -> list[Case]:
    return [one for one in CASES if (one.row.api, one.listener) == (api, listener)]


@pytest.mark.parametrize(("api", "listener"), APIS)
def test_it_answers_as_kafka_does(table: Table, api: str, listener: str) -> None:
    found = {
        case.name: [str(one) for one in differences(KAFKA[case.name], table.told(case))]
        for case in of(api, listener)
        if row_of(case) is None
    }
    assert {name: many for name, many in found.items() if many} == {}


@pytest.mark.parametrize(("api", "listener"), APIS)
def test_a_check_that_is_left_out_is_seen(table: Table, api: str, listener: str) -> None:
    asked = {case: table.asked(case) for case in of(api, listener)}
    checks = sorted(set().union(*asked.values()))
    is_served = ApiKey[api] in table.side.handlers[listener].apis
    assert bool(checks) is (is_served and api not in ASKS_NOTHING), checks
    unseen = [
        check
        for check in checks
        if not any(
            table.told_without(case, check) != table.told(case)
            for case, some in asked.items()
            if check in some
        )
    ]
    assert unseen == []


def test_every_api_that_is_served_has_a_row(table: Table) -> None:
    served = {
        (ApiKey(key).name, listener)
        for listener, handler in table.side.handlers.items()
        for key in handler.apis
    }
    assert served - set(APIS) == set()


def test_what_explains_a_difference_is_a_row_and_is_met(table: Table) -> None:
    for explained in EXPLAINED:
        assert explained.id in {row.id for row in rows()}
        about = [case for case in CASES if explained.is_about(case)]
        assert any(table.told(case) != KAFKA[case.name] for case in about)


def pairs(told: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What is told of the topic that is there and of the one that is not, without their names."""
    if isinstance(told, dict):
        for one in told.values():
            yield from pairs(one)
    if not isinstance(told, list):
        return
    for one in told:
        yield from pairs(one)
    of_name = {
        name: {key: value for key, value in one.items() if value != name}
        for one in told
        for name in ("~t", "~gone")
        if isinstance(one, dict) and name in one.values()
    }
    if len(of_name) == 2:
        yield of_name["~t"], of_name["~gone"]


def test_what_one_may_not_describe_looks_as_if_it_were_not_there(table: Table) -> None:
    told = [table.told(case) for case in CASES if case.rights == "no rights"]
    found = [pair for one in told for pair in pairs(one)]
    assert len(found) > 60
    assert [pair for pair in found if pair[0] != pair[1]] == []


WRITES = ("PRODUCE", "OFFSET_COMMIT", "END_TXN", "CREATE_TOPICS", "CREATE_ACLS")
IDLE_MS = 300_000


def test_what_is_denied_is_written_nowhere() -> None:
    newest = [case for case in CASES if case.user == ALICE and not case.row.brief]
    denied = [case for case in newest if case.rights == "no rights" and case.row.needs]
    allowed = [case for case in newest if case.rights == EVERYTHING and case.row.api in WRITES]
    table = Table()
    with closing(table.side):
        assert [case.name for case in denied if table.writes(case)] == []
        assert {case.row.api for case in allowed if table.writes(case)} == set(WRITES)
        before = table.side.written()
        table.side.wait(IDLE_MS)
        assert table.side.written() == before
