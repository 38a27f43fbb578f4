"""The console while no broker answers: figures have their time, and nothing unknown looks known."""

from __future__ import annotations

import pytest

from tests.compat.console.scene import LAGGING, ORDERS, make_scene
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import Tab, chromium, running_console

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SINGLE = {"offsets.topic.replication.factor": "1"}


def test_figures_of_before_an_outage_have_their_time() -> None:
    with ClusterProcesses(1, properties=SINGLE) as cluster:
        make_scene(cluster.bootstrap, orders=100)
        with running_console(cluster.bootstrap) as link, chromium() as browser:
            open_before, open_later = Tab(browser, link), Tab(browser, link)
            groups = open_later.go("/groups")
            open_later.wait(LAGGING)
            page = open_before.page
            busiest = page.get_by_role("table", name="Busiest topics")
            busiest.get_by_text(ORDERS).wait_for()
            page.get_by_role("status").filter(has_text="Healthy").wait_for()
            cluster.kill(1)

            open_before.wait("The figures below are of")
            page.get_by_text("Healthy").wait_for(state="detached")
            assert "start one with" not in page.locator("main").inner_text()
            busiest.get_by_text(ORDERS).wait_for()
            open_later.wait("The figures below are of")
            groups.get_by_role("link", name=LAGGING).wait_for()

            newer = Tab(browser, link)
            newer.wait("no broker answers")
            assert newer.page.get_by_text("No topics").count() == 0
            assert newer.page.get_by_text("No committed offsets").count() == 0
            for tab in (open_before, open_later, newer):
                errors = set(tab.said_wrong())
                assert errors <= {"the server responded with a status of 502 (Bad Gateway)"}
                tab.close()
