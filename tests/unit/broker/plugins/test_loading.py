"""A class by its name, or one line that says what is wrong with it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.config.plugins import PythonClass
from broker.plugins.loading import OWN_PACKAGES, extend_search_path, load, own_settings
from ground.config_def import ConfigError
from ottla.plugins.principal import PrincipalBuilder

KEY = "principal.builder.class"
MODULE = """
from ottla.plugins.principal import PrincipalBuilder

class Good(PrincipalBuilder):
    def configure(self, settings):
        self.told = settings

    def principal(self, peer):
        return "User:x"

class Half(PrincipalBuilder):
    pass

class Stranger:
    def principal(self, peer):
        return "User:x"

class Angry(Good):
    def configure(self, settings):
        raise ValueError("no\\n  directory")

class Ending(Good):
    def __init__(self):
        raise SystemExit(3)

class Outer:
    class Inner(Good):
        pass

value = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of modules that is looked in."""
    path, modules = list(sys.path), dict(sys.modules)
    (tmp_path / "ottla_test_plugin.py").write_text(MODULE)
    (tmp_path / "ottla_test_broken.py").write_text("import ottla_test_missing_library")
    (tmp_path / "ottla_test_syntax.py").write_text("def f(:")
    extend_search_path([str(tmp_path)])
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - set(modules):
        if name.startswith("ottla_test_"):
            del sys.modules[name]


def loaded(module: str, name: str) -> PrincipalBuilder:
    return load(
        PythonClass(KEY, module, name),
        PrincipalBuilder,  # type: ignore[type-abstract]
        lambda one: one.configure({"a": "b"}),
    )


def refusal(module: str, name: str = "Good") -> str:
    with pytest.raises(ConfigError) as refused:
        loaded(module, name)
    assert refused.value.name == KEY
    line = str(refused.value)
    assert line.startswith(f"{KEY}={module}:{name}: ") and "\n" not in line
    return line.partition(": ")[2]


def test_a_class_is_made_and_configured(folder: Path) -> None:
    made = loaded("ottla_test_plugin", "Good")
    assert made.told == {"a": "b"}  # type: ignore[attr-defined]
    assert type(loaded("ottla_test_plugin", "Outer.Inner")).__name__ == "Inner"


def test_a_folder_is_looked_in_last_and_once(folder: Path) -> None:
    extend_search_path([str(folder)])
    assert sys.path[-1] == str(folder) and sys.path.count(str(folder)) == 1


def test_what_is_not_there_is_told_with_where_it_was_looked_for(folder: Path) -> None:
    told = refusal("ottla_test_nowhere.inner")
    assert told.startswith("there is no module ottla_test_nowhere; ")
    assert "PYTHONPATH" in told and "ottla.plugins.path" in told
    told = refusal("ottla_test_plugin", "Gone")
    assert told == f"module ottla_test_plugin ({folder / 'ottla_test_plugin.py'}) has no Gone"


def test_a_module_that_misses_another_one_is_not_called_missing(folder: Path) -> None:
    told = refusal("ottla_test_broken")
    assert told.startswith("cannot be imported: ModuleNotFoundError: No module named 'ottla_test_m")
    assert f"({folder / 'ottla_test_broken.py'}:1)" in told
    assert refusal("ottla_test_syntax").startswith("cannot be imported: SyntaxError: ")


@pytest.mark.parametrize("name", ["Stranger", "value"])
def test_what_extends_something_else_is_refused(folder: Path, name: str) -> None:
    told = refusal("ottla_test_plugin", name)
    assert told == "is no subclass of ottla.plugins.principal.PrincipalBuilder"


def test_what_is_not_whole_or_cannot_be_made_is_refused(folder: Path) -> None:
    assert "abstract" in refusal("ottla_test_plugin", "Half")
    told = refusal("ottla_test_plugin", "Angry")
    assert told.startswith("cannot be made: ValueError: no directory (")
    assert "ottla_test_plugin.py:" in told
    assert "SystemExit: 3" in refusal("ottla_test_plugin", "Ending")


def test_a_module_with_the_name_of_one_of_ours_is_not_looked_for() -> None:
    assert refusal("client.mine") == "client is a package of Ottla itself; call yours otherwise"
    pyproject = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())
    assert set(pyproject["tool"]["importlinter"]["root_packages"]) == set(OWN_PACKAGES)


def test_settings_behind_a_prefix_stand_under_their_plain_names_too() -> None:
    texts = {"a": "1", "listener.name.x.a": "2", "listener.name.x.plain.a": "3", "b": "4"}
    assert own_settings(texts)["a"] == "1"
    assert own_settings(texts, ("listener.name.x.",))["a"] == "2"
    both = own_settings(texts, ("listener.name.x.", "listener.name.x.plain."))
    assert both["a"] == "3" and both["b"] == "4"
