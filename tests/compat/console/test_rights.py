"""A console whose login has hardly any right: what it may not see is not shown as nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.cluster_security import MECHANISM, STRANGER, STRANGER_PASSWORD
from tests.tools.console import Tab, chromium, running_console

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TOPIC, GROUP = "visible", "hidden-group"
REJECTED = ("409 (Conflict)",)
SINGLE = {"offsets.topic.replication.factor": "1"}


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a console of a user that may only read one topic."""
    with ClusterProcesses(1, properties=SINGLE, secured=True) as cluster:
        assert cluster.login is not None
        login = cluster.login.of_librdkafka()
        _fill(cluster.bootstrap, login)
        config = _client_properties(tmp_path_factory.mktemp("login"), login["ssl.ca.location"])
        options = ["--allow-writes", "--command-config", str(config)]
        with running_console(cluster.bootstrap, options) as running:
            yield running


def test_unknown_is_not_shown_as_nothing(link: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.page
        main = page.locator("main")
        tab.wait("size not known to this login")
        tab.wait("the cluster's health is not known")
        page.get_by_role("table", name="Busiest topics").get_by_text(TOPIC).wait_for()
        tab.wait("No groups that this login may describe")

        tab.go(f"/topics/{TOPIC}")
        tab.wait("not known to this login")
        assert "0 B" not in main.inner_text()
        for action, right in (
            ("Add partitions", "Alter"),
            ("Delete", "Delete"),
            ("Set a config", "AlterConfigs"),
        ):
            _assert_needs(page, action, f"{right} on this topic")
        tab.go(f"/topics/{TOPIC}/messages")
        _assert_needs(page, "Write a record", "Write on this topic")
        tab.go("/groups")
        tab.wait("This list has only the groups that the console's login may describe")
        assert "No groups yet" not in main.inner_text()
        tab.go("/transactions")
        tab.wait("The list has only the ids that the console's login may describe")
        tab.go(f"/topics/{TOPIC}/producers/0")
        tab.wait("No producers")
        # The cluster's state takes Describe on it, the topic's configs take DescribeConfigs.
        rejected = {f"the server responded with a status of {status}" for status in REJECTED}
        assert set(tab.said_wrong()) <= rejected
        tab.close()


def _assert_needs(page: Page, action: str, right: str) -> None:
    """Wait until the button is disabled with the right that it takes."""
    needs = f"The console's login needs {right}"
    button = page.locator(f'button[title="{needs}"]', has_text=action)
    button.wait_for()
    assert button.is_disabled()


def _fill(bootstrap: str, login: dict[str, str]) -> None:
    """Create a topic with a record that the stranger may read, and a group."""
    client = {"bootstrap.servers": bootstrap, **login}
    admin = AdminClient(client)
    admin.create_topics([NewTopic(TOPIC, 1, 1)], operation_timeout=60)[TOPIC].result(60)
    topic = (ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, f"User:{STRANGER}", "*")
    right = AclBinding(*topic, AclOperation.READ, AclPermissionType.ALLOW)
    for made in admin.create_acls([right]).values():
        made.result(60)
    producer = Producer(client)
    producer.produce(TOPIC, "a record")
    assert producer.flush(60) == 0
    consumer = Consumer({**client, "group.id": GROUP, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    assert consumer.consume(1, timeout=60)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
    consumer.close()


def _client_properties(folder: Path, authority: str) -> Path:
    """Write the stranger's file of client properties."""
    config = folder / "stranger.properties"
    config.write_text(
        "security.protocol=SASL_SSL\n"
        f"sasl.mechanism={MECHANISM}\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{STRANGER}" password="{STRANGER_PASSWORD}";\n'
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.location={authority}\n"
    )
    return config
