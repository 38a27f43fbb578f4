"""`controller.decisions.feature_updates`: levels that every node of the cluster must support."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions.feature_updates import FeatureUpdate, FeatureUpdates, QuorumLevels
from controller.settings import ControllerSettings
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of
from tests.unit.controller.decision_fixture import CONFIGURATION, view

ELR = "eligible.leader.replicas.version"
MV = "metadata.version"
KRAFT = "kraft.version"


def controller_record(
    controller_id: int, low: int = 7, high: int = 30
) -> m.RegisterControllerRecord:
    features = [m.ControllerFeature(MV, low, high), m.ControllerFeature(ELR, 0, 1)]
    return m.RegisterControllerRecord(controller_id, bytes(16), False, [], features)


class Quorum:
    """Two voters of a static quorum."""

    kraft_version = 0
    voter_ids = (9, 10)
    fault: ApiError | None = None

    def upgrade_fault(self, level: int) -> ApiError | None:
        return self.fault


def update(
    level: int,
    *more: Any,
    name: str = MV,
    kind: int = 1,
    at: int = 26,
    quorum: QuorumLevels | None = None,
) -> Any:
    settings = ControllerSettings(
        node_id=9, cluster_id="c", directory_id=b"", metadata_log_dir="/d"
    )
    image = image_of(m.FeatureLevelRecord(MV, at), *more)
    wanted = [FeatureUpdate(name, level, kind)]
    updates = FeatureUpdates(settings, CONFIGURATION, quorum or Quorum())
    return in_one_go(updates.update(view(image), wanted, False))


ALL = (broker_record(1), controller_record(9), controller_record(10))


@pytest.mark.parametrize(
    ("level", "kind", "at", "more", "said"),
    [
        (30, 1, 26, ALL, None),
        (27, 2, 29, ALL, None),
        (24, 2, 29, ALL, None),
        (22, 2, 29, ALL, "might delete metadata information"),
        (29, 2, 30, ALL, "might delete metadata information"),
        (30, 2, 31, ALL, None),
        (30, 2, 32, ALL, "might delete metadata information"),
        (29, 3, 30, ALL, "Unsafe metadata downgrade is not supported"),
        (30, 1, 26, (*ALL, controller_record(11, 7, 29)), "Controller 11 only supports"),
        (30, 1, 26, ALL[:2], "controller 10 has not registered"),
        (30, 1, 14, ALL[:2], None),
    ],
)
def test_metadata_version(level: int, kind: int, at: int, more: Any, said: str | None) -> None:
    decision = update(level, *more, kind=kind, at=at)
    if said is None:
        assert decision.records == [m.FeatureLevelRecord(MV, level)]
        return
    assert isinstance(decision.reply, ApiError)
    assert said in str(decision.reply.message)
    assert list(decision.records) == []


def test_the_quorum_writes_its_own_level() -> None:
    """KIP-853: the voters are in the log from then on, so it never goes down."""
    broker, controllers = broker_record(1), [controller_record(9), controller_record(10)]
    broker.features = [m.BrokerFeature(KRAFT, 0, 1)]
    for controller in controllers:
        controller.features.append(m.ControllerFeature(KRAFT, 0, 1))
    everyone = (broker, *controllers)
    decision = update(1, *everyone, name=KRAFT)
    assert (decision.reply, decision.kraft_version) == (None, 1)
    assert decision.records == [m.NoOpRecord()]
    quorum = Quorum()
    quorum.fault = ApiError(ErrorCode.INVALID_UPDATE_VERSION, "a voter does not support it")
    assert update(1, *everyone, name=KRAFT, quorum=quorum).reply == quorum.fault
    quorum.kraft_version = 1
    down = update(0, *everyone, name=KRAFT, kind=2, quorum=quorum)
    assert isinstance(down.reply, ApiError)
    assert "Can't downgrade the version of this feature." in str(down.reply.message)
    quorum.fault = None
    assert update(1, *everyone, name=KRAFT, quorum=quorum).kraft_version is None


def test_a_broker_that_does_not_know_it() -> None:
    decision = update(1, *ALL, name=ELR)
    assert isinstance(decision.reply, ApiError)
    assert "Broker 1 does not support this feature" in str(decision.reply.message)


def test_elr_comes_with_one_minimum_for_all() -> None:
    """A broker's own minimum would make controllers disagree about who is proven."""
    own = m.ConfigRecord(4, "1", "min.insync.replicas", "2")
    decision = update(1, *ALL[1:], own, name=ELR)
    assert decision.records == [
        m.ConfigRecord(4, "", "min.insync.replicas", "1"),
        m.ConfigRecord(4, "1", "min.insync.replicas", None),
        m.FeatureLevelRecord(ELR, 1),
    ]


def test_elr_needs_its_records() -> None:
    decision = update(1, *ALL[1:], name=ELR, at=22)
    assert isinstance(decision.reply, ApiError)
    assert "depends on metadata.version level 23" in str(decision.reply.message)


def test_a_folder_of_an_earlier_release_goes_to_transactions_protocol_2() -> None:
    features = [
        m.BrokerFeature("transaction.version", 0, 2),
        m.BrokerFeature(MV, 7, 30),
    ]
    broker = broker_record(1)
    broker.features = features
    controllers = [controller_record(9), controller_record(10)]
    for controller in controllers:
        controller.features.append(m.ControllerFeature("transaction.version", 0, 2))
    for level, said in ((2, None), (1, None), (3, "only supports versions 0-2")):
        decision = update(level, broker, *controllers, name="transaction.version")
        if said is None:
            assert decision.records == [m.FeatureLevelRecord("transaction.version", level)]
        else:
            assert isinstance(decision.reply, ApiError)
            assert said in str(decision.reply.message)


@pytest.mark.parametrize(
    ("level", "kind", "now", "said"),
    [
        (1, 1, 0, None),
        (0, 2, 1, None),
        (0, 3, 1, None),
        (0, 1, 1, "Can't downgrade the version of this feature"),
        (2, 1, 1, "only supports versions 0-1"),
    ],
)
def test_groups_that_the_broker_assigns_are_turned_on_and_off(
    level: int, kind: int, now: int, said: str | None
) -> None:
    """UpdateFeatures to 0 needs a downgrade that is called one, as Kafka was seen to do."""
    group = "group.version"
    broker = broker_record(1)
    broker.features = [m.BrokerFeature(group, 0, 1), m.BrokerFeature(MV, 7, 30)]
    controllers = [controller_record(9), controller_record(10)]
    for controller in controllers:
        controller.features.append(m.ControllerFeature(group, 0, 1))
    finalized = m.FeatureLevelRecord(group, now)
    decision = update(level, broker, *controllers, finalized, name=group, kind=kind)
    if said is None:
        assert decision.records == [m.FeatureLevelRecord(group, level)]
    else:
        assert isinstance(decision.reply, ApiError)
        assert said in str(decision.reply.message)


def test_a_broker_that_does_not_know_them_keeps_them_off() -> None:
    group = "group.version"
    controllers = [controller_record(9), controller_record(10)]
    for controller in controllers:
        controller.features.append(m.ControllerFeature(group, 0, 1))
    decision = update(1, broker_record(1), *controllers, name=group)
    assert isinstance(decision.reply, ApiError)
    assert "Broker 1 does not support this feature" in str(decision.reply.message)
