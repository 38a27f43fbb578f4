"""Numbers as values of options: click's ranges, which help and errors show in plain words.

click writes `1<=x<=32767`, these types write `1 to 32767`. They accept what click's types accept,
and override a private method of click: if a later click calls another, its own words are back.
"""

from __future__ import annotations

import click


class WholeNumber(click.IntRange):
    """A whole number from a smallest to a largest value."""

    def _describe_range(self) -> str:
        """Return the range in plain words, for click's help and errors."""
        return _range_text(self.min, self.max)


class Number(click.FloatRange):
    """A number from a smallest to a largest value."""

    def _describe_range(self) -> str:
        """Return the range in plain words, for click's help and errors."""
        return _range_text(self.min, self.max)


def _range_text(smallest: float | None, largest: float | None) -> str:
    """Return `1 to 9`, or `1 or more` for a range without a largest value."""
    return f"{smallest} or more" if largest is None else f"{smallest} to {largest}"
