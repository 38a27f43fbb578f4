"""A simulated client: it waits for time and for answers, and knows topics from Metadata."""

from __future__ import annotations

from ground.sim_scheduler import SimScheduler
from protocol.messages.api_versions import ApiVersionsRequest
from simulation.machines.layout import Layout
from simulation.sim_client import SimClient, Task, Waits
from simulation.users.user_run import UserRun


def test_a_task_waits_for_time_and_ends_where_it_is_cancelled() -> None:
    world, seen = SimScheduler(), []

    def life() -> Waits:
        for _ in range(3):
            yield 10.0
            seen.append(world.now_ms)

    task = Task(world, life())
    world.run_for(25.0)
    assert seen == [10.0, 20.0] and not task.done
    task.cancel()
    world.run_for(25.0)
    assert seen == [10.0, 20.0] and task.done


def test_a_call_gives_the_answer_or_none_where_nobody_listens() -> None:
    run = UserRun(1, brokers=1, faults="none")
    client, told = SimClient("c", "1", run.world, run.network), []

    def ask() -> Waits:
        told.append((yield from client.call(ApiVersionsRequest(), 2)))

    Task(run.world, ask())
    run.run_for(1_000.0)
    assert told == [None]
    run.begin()
    Task(run.world, ask())
    run.run_for(1_000.0)
    assert told[1].error_code == 0 and client.done
    assert Layout().brokers == len(client.bootstrap)


def test_metadata_is_learnt_until_it_is_there() -> None:
    run = UserRun(1, brokers=1, faults="none")
    run.begin()
    client, told = SimClient("c", "1", run.world, run.network), []

    def look() -> Waits:
        yield from client.learn(["t"])
        told.append(client.topics.get("t"))
        told.append((yield from client.know("t")))
        yield from client.learn_all(["t"])
        told.append(client.topics.leader("t", 0))

    Task(run.world, look())
    run.run_for(1_000.0)
    assert told == [None] and client.node_ids == [1]
    made = {"topic": "t", "partitions": 1, "replication": 1, "configs": {}, "timeout_ms": 5_000.0}
    run.submit(1, "admin", "create_topic", made)
    run.advance()
    run.run_for(1_000.0)
    assert [one.name for one in told[1]] == ["t"] and told[2] == "broker-1"
