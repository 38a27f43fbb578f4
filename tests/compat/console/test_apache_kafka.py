"""Walks in front of Apache Kafka: each view, groups of its further types, a hanging transaction.

`pytest tests/compat/console --broker=apache-kafka` runs the other tests of this folder there, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.console.conftest import PROPERTIES
from tests.compat.console.other_groups import SHARE, STREAMS, join_other_groups, leave_hanging
from tests.compat.console.scene import ORDERS, make_scene
from tests.compat.console.views import VIEWS
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.console import PHONE, Tab, chromium, running_console
from tests.tools.java_tools import FAST_START

pytestmark = [pytest.mark.browser, pytest.mark.java, pytest.mark.timeout(600)]

HANGING = "hanging.tx"
PRODUCER_ID = 424_242
OLD_MS = 20 * 60_000
"""The age of the hanging transaction: above Kafka's `transaction.max.timeout.ms`."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    """Start an Apache Kafka with the scene, a share group and a streams group."""
    unverified = {"transaction.partition.verification.enable": "false"}
    properties = PROPERTIES | unverified
    with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=properties) as kafka:
        make_scene(kafka.bootstrap, orders=400, reader="alice")
        join_other_groups(kafka.bootstrap, ORDERS)
        yield kafka


def test_each_view_and_each_type_of_group(kafka: ApacheKafka) -> None:
    others = {
        f"/groups/{SHARE}": "Records after the start offsets",
        f"/groups/{STREAMS}": "the console does not show the members of a streams group",
        f"/topics/{ORDERS}/producers/0": "No producers",
    }
    with (
        running_console(kafka.bootstrap, ["--allow-writes"], [kafka.data_dir]) as link,
        chromium() as browser,
    ):
        tab = Tab(browser, link, size=PHONE)
        for address, text in (VIEWS | others).items():
            tab.go(address)
            tab.wait(text)
            assert not tab.is_wider_than_its_window(), address
        tab.go(f"/groups/{STREAMS}")
        tab.wait("the console does not show the members of a streams group")
        assert tab.page.get_by_role("button", name="Reset offsets…").is_disabled()
        tab.close()


def test_a_hanging_transaction_is_found_and_aborted(kafka: ApacheKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(HANGING, 1, 1)], operation_timeout=60)[HANGING].result(60)
    leave_hanging(kafka.bootstrap, HANGING, PRODUCER_ID, OLD_MS)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(HANGING, '{"at": "behind"}')
    assert producer.flush(60) == 0
    with running_console(kafka.bootstrap, ["--allow-writes"]) as link, chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/topics/{HANGING}")
        tab.wait("2 records wait for")
        page.get_by_role("link", name=f"a hanging transaction of producer {PRODUCER_ID}").click()
        row = page.get_by_role("table", name="Records that wait for a transaction")
        row.get_by_text("No coordinator knows it").wait_for()
        row.get_by_role("button", name="Abort").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label(f"Type {PRODUCER_ID} to confirm").fill(str(PRODUCER_ID))
        dialog.get_by_role("button", name="Abort the transaction").click()
        dialog.wait_for(state="detached")
        tab.wait("No records wait for a transaction")
        tab.go(f"/topics/{HANGING}/messages")
        tab.wait("behind")
        assert page.get_by_text('"hanging"').count() == 0
        tab.close()
