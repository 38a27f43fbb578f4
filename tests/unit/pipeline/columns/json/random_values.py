"""Random JSON objects for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
_NUMBERS = (
    st.integers()
    | st.integers(-(2**66), 2**66)
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(_NAMES, JSON, max_size=4), max_size=5)
