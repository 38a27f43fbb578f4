"""What tests of single decisions share: a view of an image, its next state, the rules."""

from __future__ import annotations

from collections.abc import Iterable

from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import DecisionView
from controller.decisions.leadership_changes import LeadershipChanges
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecord
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet

SETTINGS = ControllerSettings(
    node_id=9,
    cluster_id="c",
    directory_id=b"",
    metadata_log_dir="/d",
    static_voters=VoterSet.of_ids(9),
)
CONFIGURATION = ConfigurationControl(SETTINGS)
LEADERSHIP = LeadershipChanges(CONFIGURATION)
RULES = LEADERSHIP.rules


def view(image: MetadataImage, now_ms: float = 0) -> DecisionView:
    """Of `image`, which has everything."""
    return DecisionView(image, image.offset + 1, now_ms)


def after(image: MetadataImage, records: Iterable[MetadataRecord]) -> MetadataImage:
    """`image` once `records` have come true."""
    delta = MetadataDelta(image)
    count = 0
    for record in records:
        delta.replay(record)
        count += 1
    return delta.apply(image.offset + count, 1, 0)
