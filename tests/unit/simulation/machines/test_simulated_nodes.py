"""The nodes of a simulated cluster together, dead ones too."""

from __future__ import annotations

from controller.metadata.image import MetadataImage
from tests.simulation.simulation import Simulation


def test_metadata_outlives_who_read_it() -> None:
    """A leader that was replaced is told apart when all who knew its successor are dead."""
    simulation = Simulation(1, brokers=3)
    first, second, _ = simulation.brokers
    first.last_image = MetadataImage(offset=7)
    second.last_image = MetadataImage(offset=9)
    assert simulation.view.newest_image() is second.last_image
