"""The shares of the tests that processes take, and their order."""

from __future__ import annotations

import re
from types import SimpleNamespace

from tests.architecture.sources import ROOT
from tests.plugins import shares
from tests.plugins.shares import QUICK, SPARK, rank, share_of

SHUFFLED = [
    "tests/unit/storage/log/test_indexes.py::test_b",
    "tests/compat/test_admin.py::test_a",
    "tests/architecture/test_sizes.py::test_a",
    "tests/compat/spark/test_spark.py::test_a",
    "tests/unit/storage/log/test_indexes.py::test_a",
    "tests/chaos/test_delivery.py::test_a",
]


def ordered(*, reorder: bool, **config: object) -> list[str]:
    items = [SimpleNamespace(nodeid=name) for name in SHUFFLED]
    config["option"] = SimpleNamespace(loadscopereorder=reorder)
    shares.pytest_collection_modifyitems(SimpleNamespace(**config), items)  # type: ignore[arg-type]
    return [item.nodeid for item in items]


def test_where_processes_share_files_spark_and_what_starts_brokers_come_first() -> None:
    assert ordered(reorder=False, workerinput={}) == [SHUFFLED[at] for at in (3, 1, 5, 0, 2, 4)]


def test_otherwise_the_order_is_left() -> None:
    assert ordered(reorder=False) == ordered(reorder=True, workerinput={}) == SHUFFLED


def test_files_of_one_session_of_spark_are_one_share() -> None:
    stock = share_of("tests/compat/spark/test_spark.py::test_a")
    assert share_of("tests/compat/spark/test_pipeline.py::test_b[1]") == stock
    assert share_of("tests/compat/pipeline/tables/test_sums.py::test_a") != stock
    assert share_of("tests/compat/test_admin.py::test_a[a::b]") == "tests/compat/test_admin.py"


def test_a_folder_of_a_like_name_is_not_quick() -> None:
    assert rank("tests/unit_like/test_indexes.py::test_a") == 1


def test_the_places_that_are_named_are_there() -> None:
    assert all((ROOT / place).exists() for place in (*QUICK, *SPARK))


def test_each_user_of_a_session_is_in_a_share() -> None:
    users = [
        f"{file.relative_to(ROOT)}::test"
        for file in (ROOT / "tests/compat").rglob("test_*.py")
        if re.search(r"kafka: Kafka|spark: SparkSession", file.read_text())
    ]
    assert len(users) > 20
    assert {rank(user) for user in users} == {0}
