"""The meaning of `faults=` in a user's simulation: kinds and rates of faults, and the network.

No fault destroys data: a record that all replicas in sync have is in the log at the end.
"""

from __future__ import annotations

from simulation.faults.faults import FaultRates
from simulation.network.sim_network import Weather

CHOICES = ("none", "some", "many")
_FAIR = Weather()
_ROUGH = Weather(delay_ms=5.0, cut_chance=0.02, dumb_chance=0.01, slow_ms=200.0, late_ms=1_500.0)
_STORM = Weather(delay_ms=10.0, cut_chance=0.05, dumb_chance=0.02, slow_ms=400.0, late_ms=3_000.0)


def weather_of(choice: str) -> Weather:
    """Return the delays and the failure rates of the network."""
    return {"none": _FAIR, "some": _ROUGH, "many": _STORM}[choice]


def faults_of(choice: str, brokers: int) -> FaultRates:
    """Return the rates of faults: on average one each second with "many", each two seconds with
    other choices. No kind destroys data. With "none", the caller does not start the nemesis."""
    mean_ms = 1_000.0 if choice == "many" else 2_000.0
    if brokers == 1:
        return FaultRates(mean_ms, longest_downtime_ms=2_000.0, quick_restarts=0.5, kill=3.0,
                      die_in_a_write=2.0, stop=2.0, pause=2.0, cut_client=2.0)  # fmt: skip
    return FaultRates.cluster(mean_ms, destroys=False, breaks_disks=False)
