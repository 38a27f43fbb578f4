"""The table of endpoints: no address twice, and each below /api/."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from console.endpoints import STATIC
from console.views import ENDPOINTS


def test_no_address_is_there_twice() -> None:
    assert [
        path for path, times in Counter((e.path, e.writes) for e in ENDPOINTS).items() if times > 1
    ] == []
    assert all(one.path.startswith("/api/") for one in ENDPOINTS)


def test_what_changes_something_is_a_write() -> None:
    """A console without --allow-writes refuses these, and no others."""
    assert {one.path for one in ENDPOINTS if one.writes} == {
        "/api/access/acls",
        "/api/access/acls/remove",
        "/api/access/quotas",
        "/api/access/users",
        "/api/access/users/remove",
        "/api/configs",
        "/api/flow/records",
        "/api/group/delete",
        "/api/group/reset",
        "/api/topics",
        "/api/topics/{topic}/delete",
        "/api/topics/{topic}/messages",
        "/api/topics/{topic}/partitions",
        "/api/transactions/abort",
    }


def test_the_page_asks_nobody_else() -> None:
    """No address of another host in any file of ours; what was vendored was looked at."""
    ours = [one for one in STATIC.rglob("*") if one.suffix in (".js", ".css", ".html")]
    strange = [
        (str(one.relative_to(STATIC)), line)
        for one in ours
        if Path("vendor") not in one.relative_to(STATIC).parents
        for line in one.read_text().splitlines()
        if "http://" in line or "https://" in line
    ]
    assert strange == []
