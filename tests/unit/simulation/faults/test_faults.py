"""Which faults there are, with their weights."""

from __future__ import annotations

from simulation.faults.faults import DEADLY, DESTROYING, FaultRates, weights


def test_what_has_no_weight_does_not_happen() -> None:
    found = weights(
        FaultRates(mean_interval_ms=1.0, kill=2.0, die_in_a_write=0.0, stop=0.0, pause=1.0)
    )
    assert found == {"kill": 2.0, "pause": 1.0}


def test_a_cluster_stands_what_does_not_destroy() -> None:
    gentle = weights(FaultRates.cluster(500.0, destroys=False, breaks_disks=False))
    harsh = weights(FaultRates.cluster(500.0, destroys=True, breaks_disks=True))
    assert not any(kind in gentle for kind in (*DESTROYING, "disk_error", "disk_full"))
    assert all(kind in harsh and kind in DEADLY for kind in DESTROYING)
