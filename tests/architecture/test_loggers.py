"""A logger is named after its file: `ottla.` and the module's path."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from tests.architecture.sources import ROOT, nodes, relative, sources

# The files that use other names of loggers: the API of levels, the setup of handlers, and the audit
# log, which has a name of its own as in Kafka.
_OF_ALL = (
    "broker/apis/broker_loggers.py",
    "broker/process/logging_setup.py",
    "broker/requests/audit_log.py",
)


def logger_names(module: Iterable[ast.AST]) -> list[str]:
    """Return the arguments of each `getLogger`, in the order of the text."""
    return [
        ", ".join(map(ast.unparse, node.args))
        for node in module
        if isinstance(node, ast.Call)
        and "getLogger" in (getattr(node.func, "attr", None), getattr(node.func, "id", None))
    ]


def named_otherwise(paths: list[Path]) -> list[str]:
    return [
        f"{relative(path)}: {name}"
        for path in paths
        for name in logger_names(nodes(path))
        if name != "f'ottla.{__name__}'"
    ]


def test_a_logger_is_named_after_its_module() -> None:
    others = [path for path in sources() if relative(path) not in _OF_ALL]
    assert named_otherwise(others) == []
    assert any(logger_names(nodes(path)) for path in others)


def test_the_exceptions_are_still_needed() -> None:
    paths = [ROOT / path for path in _OF_ALL]
    assert len({line.partition(":")[0] for line in named_otherwise(paths)}) == len(paths)


def test_a_name_of_ones_own_is_seen() -> None:
    module = ast.parse("_log = logging.getLogger('ottla.isr')\nlog = getLogger(__name__)")
    assert logger_names(ast.walk(module)) == ["'ottla.isr'", "__name__"]
