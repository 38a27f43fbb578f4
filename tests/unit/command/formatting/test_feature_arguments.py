"""`--release-version` and `--feature`: texts as `kafka-storage format` reads them."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from command.formatting.feature_arguments import feature_levels


def read(*features: str, release: str | None = None) -> dict[str, int] | None:
    return feature_levels(release, features, dynamic_quorum=False)


def test_without_an_argument_there_is_no_choice() -> None:
    assert read() is None
    assert read(release="4.2") is not None
    assert read("group.version=1") is not None


@pytest.mark.parametrize(
    "text", ["group.version=0", " group.version = 0", "group.version=+0", "group.version=\t-0 "]
)
def test_a_level_is_a_number_of_java(text: str) -> None:
    found = read(text)
    assert found is not None and found["group.version"] == 0


def test_the_last_of_several_levels_counts() -> None:
    found = read("group.version=1", "metadata.version=30", "group.version=0")
    assert found is not None
    assert (found["group.version"], found["metadata.version"]) == (0, 30)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("group.version", "string group.version: equals sign not found. Write NAME=LEVEL, such as"),
        ("", "string : equals sign not found."),
        ("group.version=x", "string group.version=x: unable to parse x as a short. Write a whole"),
        ("group.version= ", "unable to parse  as a short."),
        ("group.version=1.0", "unable to parse 1.0 as a short."),
        ("group.version=1=1", "unable to parse 1=1 as a short."),
        ("group.version=32768", "unable to parse 32768 as a short."),
        ("group.version=32767", "No feature:group.version with feature level 32767: choose"),
    ],
)
def test_another_form_is_refused(text: str, says: str) -> None:
    with pytest.raises(StartError) as refused:
        read("transaction.version=0", text)
    assert str(refused.value).startswith("--feature: ")
    assert says in str(refused.value)


def test_the_release_is_read_first() -> None:
    with pytest.raises(StartError, match="^--release-version: Unknown metadata.version '9.9'."):
        read("group.version", release="9.9")
    with pytest.raises(StartError, match="^--release-version: Unknown metadata.version ''."):
        read(release="")
