from __future__ import annotations

import pytest

from broker.apis.transaction_admin import TransactionAdminApi, refuse_describe
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.broker.transactions.desk import A0, Desk
from tests.unit.controller.rights_fixture import rights_of


def test_ids_are_described_one_by_one() -> None:
    desk = Desk()
    desk.init()
    desk.add((1000, 0), A0)
    api = TransactionAdminApi(desk.coordinator, Turns().answers)
    response = ask(api.describe, DescribeTransactionsRequest(["t", "u"]), 0)
    open_one, unknown = response.transaction_states
    assert (open_one.error_code, open_one.transaction_state) == (0, "Ongoing")
    assert open_one.topics[0].partitions == [0]
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert unknown.transactional_id == "u"


@pytest.mark.parametrize("version", range(3))
def test_ids_are_listed_with_the_filters_of_the_version(version: int) -> None:
    desk = Desk()
    desk.init("one")
    desk.init("two")
    api = TransactionAdminApi(desk.coordinator, Turns().answers)
    request = ListTransactionsRequest(["Empty", "?"], [], -1, "t.*")
    response = ask(api.list_transactions, request, version)
    names = [one.transactional_id for one in response.transaction_states]
    assert sorted(names) == (["two"] if version >= 2 else ["one", "two"])
    assert response.unknown_state_filters == ["?"]


def test_a_failure_of_ours_is_told_for_every_id() -> None:
    request = DescribeTransactionsRequest(["t", "u"])
    states = refuse_describe(request, ErrorCode.UNKNOWN_SERVER_ERROR).transaction_states
    assert [(one.transactional_id, one.error_code) for one in states] == [("t", -1), ("u", -1)]


def test_what_may_not_be_described_is_not_told() -> None:
    desk = Desk()
    for name in ("t", "u"):
        desk.init(name)
    desk.add((1000, 0), A0)
    api = TransactionAdminApi(desk.coordinator, Turns().answers)
    rights = rights_of({(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, "t")})
    request = DescribeTransactionsRequest(["u", "t", "x"])
    hidden, told, unknown = ask(api.describe, request, 0, rights=rights).transaction_states
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (hidden.transactional_id, hidden.error_code) == ("u", denied)
    assert (unknown.transactional_id, unknown.error_code) == ("x", denied)
    assert (told.transaction_state, told.topics) == ("Ongoing", [])
    listed = ask(api.list_transactions, ListTransactionsRequest(), 2, rights=rights)
    assert [one.transactional_id for one in listed.transaction_states] == ["t"]
