"""An open transaction in Chromium: its waiting records, its page, and its abort."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.tools.console import LAPTOP, PHONE, Tab, chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TOPIC, ID = "refunds", "tx-of-a-dead-program"


def test_records_that_wait_for_a_transaction_appear_after_its_abort(
    link: str, bootstrap: str
) -> None:
    producer = _open_transaction(bootstrap)
    _write_behind(bootstrap)
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/topics/{TOPIC}/messages")
        note = page.locator("p.note", has_text="5 records wait for the transaction of")
        note.wait_for()
        assert page.get_by_text("behind-").count() == 0, (
            "read_committed ends before the transaction"
        )
        note.get_by_role("link", name=ID).click()
        row = page.get_by_role("table", name="Transactional ids").locator("tbody tr")
        row.get_by_text(f"{TOPIC}-0").wait_for()
        assert row.count() == 1 and "Ongoing" in row.inner_text()
        waiting = page.get_by_role("table", name="Records that wait for a transaction")
        assert "5" in waiting.locator("tbody tr", has_text=ID).inner_text()

        abort = row.get_by_role("button", name="Abort")
        for size in (PHONE, LAPTOP):
            tab.resize(size)
            assert tab.is_within_its_window(abort), size
        abort.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text(f"{TOPIC}-0: 5 records from offset 0").wait_for()
        assert "must start again. This is a preview" in dialog.inner_text()
        action = dialog.get_by_role("button", name="Abort the transaction")
        assert action.is_disabled()
        dialog.get_by_label(f"Type {ID} to confirm").fill(ID)
        action.click()
        dialog.wait_for(state="detached")
        row.get_by_text("CompleteAbort").or_(row.get_by_text("Empty")).first.wait_for()

        tab.go(f"/topics/{TOPIC}/messages")
        for number in range(3):
            tab.wait(f"behind-{number}")
        assert page.get_by_text("within-").count() == 0, "aborted records stay hidden"
        tab.go(f"/topics/{TOPIC}/producers/0")
        page.get_by_role("table", name="Producers").get_by_role("link", name=ID).wait_for()
        assert not tab.is_wider_than_its_window()
        tab.close()
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)


def _open_transaction(bootstrap: str) -> Producer:
    """Create the topic, write two records in a transaction, and leave it open."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)], operation_timeout=60)[TOPIC].result(60)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": ID})
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(2):
        producer.produce(TOPIC, json.dumps({"at": f"within-{number}"}))
    assert producer.flush(60) == 0
    return producer


def _write_behind(bootstrap: str) -> None:
    """Write three records outside of the transaction, after its own."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(3):
        producer.produce(TOPIC, json.dumps({"at": f"behind-{number}"}))
    assert producer.flush(60) == 0
