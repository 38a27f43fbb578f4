"""No regular expression of the product needs a Python later than 3.11.0.

Possessive repetitions and atomic groups came with Python 3.11, and before 3.11.5 they match some
texts wrongly (gh-106052): with Debian 12's 3.11.2, no client could log in by SCRAM.
"""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import PACKAGES, PIPELINE, ROOT

POSSESSIVE = re.compile(r"[)\]\w}.][+*?]\+|\}\+|\(\?>")


def possessive_texts(source: str) -> list[str]:
    """Return the literals of a file that look like an expression with such a repetition."""
    literals = (
        node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)
    )
    texts = (text.decode("latin-1") if isinstance(text, bytes) else text for text in literals)
    return [text for text in texts if isinstance(text, str) and POSSESSIVE.search(text)]


def test_no_expression_is_possessive() -> None:
    found = {
        str(file.relative_to(ROOT)): texts
        for package in (*PACKAGES, PIPELINE)
        for file in (ROOT / package).rglob("*.py")
        if "import re" in (source := file.read_text())
        if (texts := possessive_texts(source))
    }
    assert found == {}


def test_the_check_finds_them() -> None:
    assert possessive_texts('re.compile(rb"(?:,[a-z]++=x)*+")') and possessive_texts('x = "(?>a)"')
    assert possessive_texts('re.compile(r"[0-9]+[*+.]+")') == []
