"""The secured broker of these tests: one for each process of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.compat.security.secured_broker import SecuredBroker


@pytest.fixture(scope="session")
def secured(
    ottla_broker_factory: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredBroker]:
    """A running broker with a listener of each kind."""
    folder = tmp_path_factory.mktemp("secured")
    with closing(SecuredBroker(ottla_broker_factory, folder)) as running:
        yield running
