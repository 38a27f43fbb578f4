"""Clients of the simulator whose metadata loses topics go on: what they do not know they ask for.

A broker that was cut off when a topic was created answers UNKNOWN_TOPIC_OR_PARTITION for it. Here
every client loses a fifth of the topics it knows with each answer to Metadata, until all is
healed.
"""

from __future__ import annotations

import random

import pytest

from simulation.sim_client import Waits
from tests.simulation.final_reader import FinalReader
from tests.simulation.plans import brokers_of
from tests.simulation.sim_actor import SimActor
from tests.simulation.simulation import Simulation

SEEDS = (0, 1, 2, 3, 8)
"""With and without transactions (2 and 8), with failing disks (3 and 8)."""


@pytest.mark.parametrize("seed", SEEDS)
def test_clients_whose_metadata_loses_topics_go_on(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    learn = SimActor.learn

    def learn_less(client: SimActor, names: list[str] | None) -> Waits:
        yield from learn(client, names)
        for topic in client.topics.everything():
            if chance.random() < 0.2 and not (client.calm or isinstance(client, FinalReader)):
                client.topics.forget(topic.name)

    monkeypatch.setattr(SimActor, "learn", learn_less)
    outcome = Simulation(seed, brokers=brokers_of(seed)).run()
    assert outcome.acknowledged > 5, "too little happened to prove anything"
