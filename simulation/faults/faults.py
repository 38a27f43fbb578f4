"""The kinds of faults of a run and how often they happen; `nemesis.py` draws from them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class FaultRates:
    """The mean time between faults, and the weight of each kind."""

    mean_interval_ms: float = 5_000.0
    longest_downtime_ms: float = 3_000.0
    quick_restarts: float = 0.0
    """The share of ended processes that start again within 100 ms."""

    kill: float = 5.0
    die_in_a_write: float = 4.0
    stop: float = 2.0
    disk_error: float = 0.0
    power_loss: float = 0.0
    kill_leader: float = 0.0
    kill_coordinator: float = 0.0
    kill_share_coordinator: float = 0.0
    kill_controller: float = 0.0
    kill_all: float = 0.0
    kill_voters: float = 0.0
    wipe: float = 0.0
    disk_full: float = 0.0
    pause: float = 0.0
    pause_leader: float = 0.0
    pause_controller: float = 0.0
    isolate: float = 0.0
    isolate_leader: float = 0.0
    isolate_controller: float = 0.0
    one_way: float = 0.0
    partial: float = 0.0
    ring: float = 0.0
    slow_links: float = 0.0
    cut_client: float = 0.0
    clock: float = 0.0

    @staticmethod
    def cluster(mean_interval_ms: float, *, destroys: bool, breaks_disks: bool) -> FaultRates:
        """Return the rates of all kinds of faults that a cluster has to survive.

        Power loss and wiped disks happen only if `destroys`; disk errors and full disks only if
        `breaks_disks`.
        """
        return FaultRates(
            mean_interval_ms,
            longest_downtime_ms=5_000.0,
            quick_restarts=0.3,
            kill=2.0,
            die_in_a_write=3.0,
            stop=2.0,
            disk_error=4.0 if breaks_disks else 0.0,
            disk_full=2.0 if breaks_disks else 0.0,
            power_loss=6.0 if destroys else 0.0,
            wipe=4.0 if destroys else 0.0,
            kill_leader=2.0,
            kill_coordinator=2.0,
            kill_controller=2.0,
            kill_all=1.0,
            kill_voters=1.0,
            pause=1.0,
            pause_leader=2.0,
            pause_controller=1.0,
            isolate=1.0,
            isolate_leader=2.0,
            isolate_controller=1.0,
            one_way=2.0,
            partial=2.0,
            ring=1.0,
            slow_links=1.0,
            cut_client=1.0,
            clock=1.0,
        )


NOT_KINDS = ("mean_interval_ms", "longest_downtime_ms", "quick_restarts")
DESTROYING = ("power_loss", "wipe")
DEADLY = (
    "kill",
    "die_in_a_write",
    "kill_leader",
    "kill_coordinator",
    "kill_share_coordinator",
    "kill_controller",
    "kill_all",
    "kill_voters",
    "disk_error",
    "disk_full",
    *DESTROYING,
)


def weights(faults: FaultRates) -> dict[str, float]:
    """Return the kinds of faults whose weight is not 0, with their weights."""
    return {
        kind.name: float(getattr(faults, kind.name))
        for kind in fields(faults)
        if kind.name not in NOT_KINDS and getattr(faults, kind.name)
    }
