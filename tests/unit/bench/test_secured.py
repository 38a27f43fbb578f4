"""What a secured peer is given: listeners beside the plain ones, and files that go with it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from bench.secured import Secured


@pytest.fixture
def secured() -> Iterator[Secured]:
    made = Secured()
    yield made
    made.close()


def test_its_client_speaks_tls_1_3_only_and_checks_the_server(secured: Secured) -> None:
    context = secured.context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED
    context.load_cert_chain(secured.client)


def test_all_peers_of_a_process_have_the_same_certificates(secured: Secured) -> None:
    other = Secured()
    assert other.authority.read_text() == secured.authority.read_text()
    assert other.client.read_text() == secured.client.read_text()
    other.close()
    assert not other.authority.exists() and secured.authority.exists()
