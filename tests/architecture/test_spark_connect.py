"""The pipeline runs on Spark Connect: none of its files uses Spark's JVM."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.tools.java_tools import PROJECT_DIR

# Attributes that a session or a frame of Spark Connect lacks.
OF_THE_JVM = {
    "_jc",
    "_jdf",
    "_jsc",
    "_jsparkSession",
    "_jvm",
    "foreachPartition",  # exists, but cannot report how much it did
    "rdd",
    "sparkContext",
    "toJSON",
}
FILES = sorted((PROJECT_DIR / "pipeline").rglob("*.py"))


def used(text: str) -> set[str]:
    """Return the names of `OF_THE_JVM` in a source, as attributes or as texts."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # getattr(spark, "_jvm")
    return names & OF_THE_JVM


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PROJECT_DIR)))
def test_nothing_of_the_jvm_is_used(file: Path) -> None:
    assert used(file.read_text("utf-8")) == set()


def test_the_rule_would_be_broken() -> None:
    assert used("spark._jvm.x; frame.rdd.map(f); getattr(spark, '_jsc')") == {"_jvm", "rdd", "_jsc"}
