"""Texts of the console's page have the contrast that WCAG 2.2 asks for: 4.5 to 1."""

from __future__ import annotations

import re

import pytest

from console.endpoints import STATIC

CONTRAST_MIN = 4.5
PAIRS = [
    *((name, f"{name}-soft") for name in ("good", "warn", "bad", "info", "violet", "accent")),
    *((text, ground) for text in ("ink", "ink-2", "ink-3") for ground in ("bg", "panel", "sunk")),
    ("accent-ink", "accent"),
]
COLOUR = re.compile(r"--([\w-]+): #([0-9a-f]{6});")
LIGHT, DARK = (
    dict(COLOUR.findall(block))
    for block in re.findall(r"\{[^}]*--good:[^}]*\}", (STATIC / "app.css").read_text())
)


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("pair", PAIRS, ids=" on ".join)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(theme: dict[str, str], pair: tuple[str, str]) -> None:
    text, ground = pair
    assert contrast(theme[text], theme[ground]) >= CONTRAST_MIN


def test_black_on_white_is_21_to_1() -> None:
    assert round(contrast("000000", "ffffff"), 1) == 21.0
