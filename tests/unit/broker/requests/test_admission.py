from __future__ import annotations

from typing import Any

from broker.requests.admission import Admission
from protocol.errors import ErrorCode
from tests.unit.broker.apis.api_fixture import context


class Nobody:
    """Refuses each request."""

    def refuses(self, context: Any, request: Any) -> ErrorCode:
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_everybody_may_ask_until_an_authorizer_judges() -> None:
    admission, asked = Admission(), context(0, 12)
    assert admission.refuses(asked, None) is ErrorCode.NONE
    admission.judge_by(Nobody())
    assert admission.refuses(asked, None) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    admission.judge_by(None)
    assert admission.refuses(asked, None) is ErrorCode.NONE


def test_each_change_begins_an_epoch() -> None:
    admission = Admission()
    epochs = [admission.epoch]
    for change in (admission.changed, lambda: admission.judge_by(Nobody())):
        change()
        epochs.append(admission.epoch)
    assert admission.may_prepare
    admission.prepare_nothing()
    epochs.append(admission.epoch)
    assert not admission.may_prepare
    assert epochs == sorted(set(epochs))
