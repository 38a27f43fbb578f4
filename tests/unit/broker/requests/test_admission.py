from __future__ import annotations

from broker.requests.admission import Admission
from controller.authorization.rights import UNLIMITED, Rights, Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from tests.unit.broker.fake_connection import Connection


class Nobody:
    """Refuses whatever it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Asker, Action]] = []

    def judge(self, asker: Asker, action: Action) -> Verdict:
        self.asked.append((asker, action))
        return Verdict(False, "nobody")

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        return Verdict(False, "nobody")


def rights_in(admission: Admission) -> Rights:
    return admission.rights_of(Connection(), "me", 0, 12)


def test_everybody_may_ask_until_an_authorizer_judges() -> None:
    admission, nobody = Admission(), Nobody()
    assert rights_in(admission) is UNLIMITED
    admission.judge_by(nobody)
    assert not rights_in(admission).allows(Operation.READ, Resource.TOPIC, "t")
    ((asker, action),) = nobody.asked
    assert (asker.client_id, asker.api_key, asker.api_version) == ("me", 0, 12)
    assert action == (Operation.READ, Resource.TOPIC, "t")
    admission.judge_by(None)
    assert rights_in(admission) is UNLIMITED


def test_each_change_begins_an_epoch() -> None:
    admission = Admission()
    epochs = [admission.epoch]
    for change in (admission.changed, lambda: admission.judge_by(Nobody())):
        change()
        epochs.append(admission.epoch)
    assert admission.may_prepare
    admission.hold_preparing()
    epochs.append(admission.epoch)
    assert not admission.may_prepare
    assert epochs == sorted(set(epochs))


def test_requests_are_prepared_again_when_nobody_has_to_see_each_of_them() -> None:
    admission = Admission()
    admission.hold_preparing()
    admission.hold_preparing()
    admission.release_preparing()
    assert not admission.may_prepare
    admission.release_preparing()
    assert admission.may_prepare
