"""Run the sequences that a command line chose: on a pair of brokers, or shared between several.

`python -m tests.differential` waits for most of its time, so that pairs side by side shorten it. A
process for each pair takes each N-th sequence; the reports are added up.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from tests.differential.campaign import Campaign, Report
from tests.differential.generate import Versions, random_sequences
from tests.differential.grids import all_grids
from tests.differential.pair import both_brokers
from tests.differential.sequence import Sequence
from tests.differential.served import versions_of
from tests.differential.shrink import RUNS_MAX
from tests.tools.kafka_release import BY_NUMBER


def report_of(options: argparse.Namespace) -> Report:
    """Return what the sequences chosen by `options` show, by `options.jobs` pairs of brokers."""
    if options.jobs == 1:
        return _report_of_share(options, 0)
    whole = Report()
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for report in pool.map(partial(_report_of_share, options), range(options.jobs)):
            whole.add(report)
    return whole


def _report_of_share(options: argparse.Namespace, job: int) -> Report:
    """Return what each `options.jobs`-th sequence from number `job` on shows."""
    with both_brokers(BY_NUMBER[options.peer_version], texts=options.texts) as pair:
        runs_max = 0 if options.no_shrink else RUNS_MAX
        campaign = Campaign(pair, runs_max=runs_max, skip=options.skip)
        sequences = _sequences(options, versions_of(pair))
        return campaign.run(islice(sequences, job, None, options.jobs))


def _sequences(options: argparse.Namespace, versions: Versions) -> Iterator[Sequence]:
    if options.replay:
        yield from (Sequence.from_json(path.read_text()) for path in options.replay)
        return
    yield from all_grids(versions, options.grids, options.every)
    numbers = range(options.first, options.first + options.sequences)
    yield from random_sequences(options.seed, numbers, options.length, versions)
