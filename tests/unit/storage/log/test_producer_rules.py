"""ProducerRules: what changes holds for logs that are open."""

from __future__ import annotations

from storage.log.producer_rules import ProducerRules
from storage.log.producer_state import ProducerStateManager


def test_logs_go_by_what_it_says_now() -> None:
    rules = ProducerRules()
    assert (rules.expiration_ms, rules.verifies) == (86_400_000, False)
    logs = [ProducerStateManager(f"t-{index}", rules) for index in range(2)]
    rules.change(5, True)
    assert [(one.rules.expiration_ms, one.rules.verifies) for one in logs] == [(5, True)] * 2
