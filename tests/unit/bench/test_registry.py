"""All scenarios: found, named once, and complete for the report."""

from __future__ import annotations

from bench.registry import all_scenarios

NOT_USUAL = ("consumer-groups", "share-groups", "idle", "transactions", "security", "innocent")


def test_names_lead_to_their_scenarios() -> None:
    found = all_scenarios()
    assert {"start-up", "single-1", "batched-1k-acks-1", "fetch-warm", "rf3-batched"} <= set(found)
    assert all(scenario.name == name for name, scenario in found.items())


def test_what_has_a_goal_on_one_node_is_in_the_usual_run_and_the_other_way_round() -> None:
    """But for what looks at idle things or needs another start, and batches by a second client."""
    found = [one for one in all_scenarios().values() if one.group not in NOT_USUAL]
    left_out = {one.name for one in found if one.is_for_goals and not one.usual}
    replayed = {"replayed-100-acks-1", "replayed-1k-acks-1", "rf3-replayed"}
    assert left_out == {"rf3-batched", "rf3-trips", *replayed}
    assert not [one.name for one in found if one.usual and not one.is_for_goals]
    assert not [one.name for one in found if one.usual and (one.timeout_s > 300 or one.nodes > 1)]


def test_a_scenario_is_for_one_node_or_three() -> None:
    assert {one.nodes for one in all_scenarios().values()} <= {1, 3}
