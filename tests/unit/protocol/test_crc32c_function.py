"""CRC-32C comes from its extension module, or from the package where that has another name."""

from __future__ import annotations

from importlib.machinery import PathFinder

import crc32c as package
import pytest

from protocol.crc32c_function import _load_crc32c, crc32c

CHECK = (b"123456789", 0xE3069283)  # what catalogues of CRCs give as its check value


def test_it_is_crc32c() -> None:
    data, value = CHECK
    assert crc32c(data) == value
    assert crc32c(memoryview(data)[4:], crc32c(bytearray(data[:4]))) == value


def test_without_the_extension_module_the_package_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)
    monkeypatch.setattr("protocol.crc32c_function.find_spec", lambda _: None)
    assert _load_crc32c() is package.crc32c
