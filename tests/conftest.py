"""The options and plug-ins of all tests, and the collection of garbage after each module."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import ottla
from tests.compat import feature_matrix
from tests.plugins import costs, failed_once, portable, quick_cases, shares, tiers, toolchains
from tests.plugins.quick_collection import QuickCollection
from tests.tools.client_leaks import CLIENTS_LEAVE_THINGS_OPEN
from tests.tools.ports import give_back

DESCRIPTORS_MAX = 200
"""The number of opened descriptors above which a module ends with a collection of garbage."""
RUN_CLIENTS_IN_PROCESS = tuple(Path(__file__).parent / name for name in ("chaos", "compat"))
"""Folders whose tests run stock clients in the process of pytest."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the plug-ins.

    Raises UsageError if the tests would import an installed copy of Ottla.
    """
    # A shell makes its background jobs ignore SIGINT, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(feature_matrix, "feature-matrix")
    config.pluginmanager.register(portable, "portable")
    config.pluginmanager.register(quick_cases, "quick-cases")
    config.pluginmanager.register(shares, "shares")
    config.pluginmanager.register(tiers, "tiers")
    config.pluginmanager.register(toolchains, "toolchains")
    worker = getattr(config, "workerinput", {}).get("workerid")
    config.pluginmanager.register(QuickCollection(worker), "quick-collection")
    failed_once.register(config)
    if config.getoption("--costs"):
        config.pluginmanager.register(costs.Meter(), "cost-meter")
        if worker is None:
            cost_file = costs.CostFile(Path(config.getoption("--costs")))
            config.pluginmanager.register(cost_file, "cost-file")
    # The time of an example depends on the machine's load, not on the code.
    settings.register_profile("ottla", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("ottla")
    root = Path(__file__).resolve().parent.parent
    installed = Path(ottla.__file__).resolve().parent
    if installed.parent != root:
        raise pytest.UsageError(f"{installed} is a copy: pip uninstall ottla, then make setup")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of all tests."""
    quick_cases.add_option(parser)
    failed_once.add_option(parser)
    tiers.add_option(parser)
    costs.add_option(parser)
    parser.addoption(
        "--broker",
        choices=("ottla", "apache-kafka"),
        default="ottla",
        help="run the compatibility tests against Apache Kafka, to check what they expect",
    )
    parser.addoption(
        "--hostile-times",
        type=int,
        default=1,
        metavar="N",
        help="the tests of hostile clients before a login send N times as much",
    )
    parser.addoption(
        "--secured",
        action="store_true",
        help="the tests of clusters that can do either, on one with TLS and logins, and the tests "
        "of security that take long",
    )
    parser.addoption(
        "--whole-data",
        action="store_true",
        help="all tables of the public data set through the pipeline, not the first days of one",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ignore warnings about clients' open sockets; skip long security tests without `--secured`."""
    for item in items:
        if _runs_clients(item.path):
            for mark in CLIENTS_LEAVE_THINGS_OPEN:
                item.add_marker(mark)
    if not config.getoption("--secured"):
        for item in items:
            if item.get_closest_marker("secured"):
                item.add_marker(pytest.mark.skip(reason="takes long; runs with --secured"))


class Descriptors:
    """The number of descriptors that stay open in this process after a collection of garbage."""

    lasting = 0


@pytest.fixture(scope="module", autouse=True)
def leaks_end_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect clients' open sockets while their warning is ignored; give back the module's ports.

    Logs that tests left open are collected when they are many: most machines allow a process 1,024
    descriptors. Objects that survive are excluded from later collections.
    """
    yield
    give_back()
    opened = len(os.listdir("/dev/fd")) - Descriptors.lasting
    if _runs_clients(request.path) or opened > DESCRIPTORS_MAX:
        gc.collect()
        gc.freeze()
        Descriptors.lasting = len(os.listdir("/dev/fd"))


def _runs_clients(path: Path) -> bool:
    return any(folder in path.parents for folder in RUN_CLIENTS_IN_PROCESS)
