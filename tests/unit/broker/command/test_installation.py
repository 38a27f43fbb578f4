"""A package of ours that another distribution shadows is named before anything fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.command.installation import PACKAGES, check_installation
from broker.config.start_error import StartError


def test_the_packages_lie_beside_each_other() -> None:
    check_installation()


def test_a_package_from_elsewhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError) as refused:
        check_installation(str(tmp_path))
    line = str(refused.value)
    assert f"the package {PACKAGES[0]} is found in" in line and str(tmp_path) in line
    assert "\n" not in line


def test_a_shadowing_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(__file__).parents[4]
    shadow = tmp_path / "elsewhere" / "protocol"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(shadow.parent))
    monkeypatch.delitem(__import__("sys").modules, "protocol")
    with pytest.raises(StartError, match=f"the package protocol is found in {shadow.parent}"):
        check_installation(str(own))
