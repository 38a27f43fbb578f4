"""By command: many random ACL sets, and what a real Apache Kafka answers.

    python -m tests.authorization evaluate [--seed N] [--sets N]
    python -m tests.authorization record-judgements [--ranges]
    python -m tests.authorization record-denials [--missing] [--only "CREATE_TOPICS v7"]
    python -m tests.authorization campaign [--seed N] [--rounds N]
    python -m tests.authorization cluster

The second starts Apache Kafka twice (`allow.everyone.if.no.acl.found` off and on), the third once.
With `--ranges`, the judgements are about entries with ranges of addresses. `campaign`, which starts
it once, is about random requests, `cluster` (`secured_cluster`) about three real nodes of Ottla.
"""

from __future__ import annotations

import argparse
import sys


def evaluate(seed: int, sets: int) -> int:
    """The exit status: 1 where the authorizer and the reference disagree."""
    from tests.authorization.evaluation import compare

    compared = compare(seed, sets)
    print(f"seed {seed}: {sets} sets, {compared.answers.total()} questions:")
    for (of_any, allowed), count in sorted(compared.answers.items()):
        print(f"  {'any name' if of_any else 'one name'}: {'yes' if allowed else 'no'} {count}")
    for drawn, question, expected in compared.disagreed[:5]:
        print(f"disagreed: {question}, reference {expected}, everyone {drawn.everyone}, of")
        print(*(f"  {one}" for one in drawn.entries), sep="\n")
    print(f"{len(compared.disagreed)} disagreements")
    return 1 if compared.disagreed else 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.authorization")
    commands = parser.add_subparsers(dest="command", required=True)
    evaluating = commands.add_parser("evaluate")
    evaluating.add_argument("--seed", type=int, default=0)
    evaluating.add_argument("--sets", type=int, default=100_000)
    judging = commands.add_parser("record-judgements")
    judging.add_argument("--ranges", action="store_true", help="ACLs for ranges of addresses")
    recording = commands.add_parser("record-denials")
    recording.add_argument("--only", default="", help="cases whose names begin so")
    recording.add_argument("--missing", action="store_true", help="cases that are not kept yet")
    commands.add_parser("cluster")
    compared = commands.add_parser("campaign")
    compared.add_argument("--seed", type=int, default=1)
    compared.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args(arguments)
    if given.command == "evaluate":
        return evaluate(given.seed, given.sets)
    if given.command == "cluster":
        from tests.authorization.secured_cluster import run

        return run()
    if given.command == "campaign":
        from tests.authorization.campaign import run as compare_with_kafka

        return compare_with_kafka(given.seed, given.rounds)
    if given.command == "record-judgements":
        from tests.authorization.kafka_judgements import ADDRESSES, RANGES, record

        record(RANGES if given.ranges else ADDRESSES)
    else:
        from tests.authorization.denials.kafka_side import record as record_denials

        record_denials(given.only, missing=given.missing)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
