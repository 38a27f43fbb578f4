"""The forms of a riddle in docstrings, comments, names and pages: a search and a count.

`python -m tests.tools.plain_words [FOLDER]` counts each form in the source, the tests and the pages
of a checkout. `tests/architecture/test_plain_words.py` refuses the forms in the rooms that are
done. CONTRIBUTING.md has the rules, with examples.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

EMPTY_NAMES = frozenset({"one", "found", "told", "known"})
LONG_FUNCTION = 10
"""Functions of at least so many lines must not use an empty name."""
WORDS_MIN = 3

# A docstring with such a beginning lacks its noun or its verb.
_RIDDLE = re.compile(
    r"(Of|What|Who|Whom|Whose|Whoever|Whatever|As|It|They|He|Nobody|Somebody|Nothing|Something"
    r"|Anybody|Everybody|So|Where|See the module|The same)\b"
)
# Closed classes of words: no imperative begins with them.
_NO_VERB = re.compile(
    r"(The|A|An|This|That|These|Those|Its|Their|His|Whether|How|When|If|In|On|At|By|For|From|To"
    r"|With|Without|After|Before|Until|Since|Between|Behind|Under|Over|All|Each|Every|Any|Some|No"
    r"|Not|None|True|False|Only|Also|Both|Either|Neither|Such|One|Two|Three|And|Or|But|Because"
    r"|How many|How much|Why|Which|There|Here|Now|Then)\b"
)
_WORD = re.compile(r"\b(whoever|whomever|somebody|anew|by and by)\b", re.IGNORECASE)
_PAGE_BEGINNING = re.compile(r"(?:^|[.:;|]\s+)(Who|Whoever|Of)\s")


class Riddle(NamedTuple):
    """A place in a text that a reader has to decode."""

    line: int
    form: str
    text: str


def riddles(text: str, nodes: Iterable[ast.AST] | None = None) -> Iterator[Riddle]:
    """Yield the riddles in the text of a module; `nodes` are those of its tree, if it is parsed."""
    for node in ast.walk(ast.parse(text)) if nodes is None else nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _empty_names(node)
        yield from _of_docstring(node)
    for line, comment in _comments(text):
        yield from _words(line, comment, "a comment's word")


def _of_docstring(node: ast.AST) -> Iterator[Riddle]:
    """Yield the riddles in the docstrings of a node and of its constants and fields."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for index, statement in enumerate(body):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            continue
        words = statement.value.value
        if not isinstance(words, str):
            continue
        is_verb_wanted = is_function and index == 0 and not _is_property(node)
        yield from _docstring(statement.lineno, words, is_verb_wanted=is_verb_wanted)


def _docstring(line: int, words: str, *, is_verb_wanted: bool) -> Iterator[Riddle]:
    start = words.strip().partition("\n")[0]
    if _RIDDLE.match(start):
        yield Riddle(line, "a beginning without its noun", start)
    elif is_verb_wanted and _NO_VERB.match(start):
        yield Riddle(line, "a function without a verb", start)
    if len(words.split()) < WORDS_MIN:
        yield Riddle(line, "fewer than three words", start)
    yield from _words(line, words, "a docstring's word")


def _words(line: int, words: str, form: str) -> Iterator[Riddle]:
    for match in _WORD.finditer(words):
        yield Riddle(line, form, match[0])


def _is_property(node: ast.AST) -> bool:
    """Return whether a function is read like a field: a property, cached or abstract too."""
    decorators = getattr(node, "decorator_list", [])
    names = {
        part.id
        for decorator in decorators
        for part in ast.walk(decorator)
        if isinstance(part, ast.Name)
    }
    return bool(names & {"property", "cached_property"})


def _empty_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Riddle]:
    if (function.end_lineno or function.lineno) - function.lineno < LONG_FUNCTION:
        return
    for node in ast.walk(function):
        is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        name = node.id if isinstance(node, ast.Name) and is_bound else ""
        name = node.arg if isinstance(node, ast.arg) else name
        if name in EMPTY_NAMES:
            yield Riddle(getattr(node, "lineno", function.lineno), "an empty name", name)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def page_riddles(text: str) -> Iterator[Riddle]:
    """Yield the riddles in a page of Markdown."""
    for line, words in enumerate(text.splitlines(), 1):
        yield from _words(line, words, "a page's word")
        for match in _PAGE_BEGINNING.finditer(words):
            yield Riddle(line, "a page's sentence without its noun", words[match.start() :][:60])


def count(folder: Path) -> dict[str, Counter[str]]:
    """Return how often each form is in the source, the tests and the pages below a folder."""
    counts: dict[str, Counter[str]] = {"source": Counter(), "tests": Counter(), "pages": Counter()}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") or part == "build" for part in parts):
            continue
        if path.suffix == ".py" and parts[:2] != ("protocol", "messages"):
            place = "tests" if parts[0] == "tests" else "source"
            counts[place].update(riddle.form for riddle in riddles(path.read_text()))
        elif path.suffix == ".md":
            counts["pages"].update(riddle.form for riddle in page_riddles(path.read_text()))
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.plain_words", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--list", action="store_true", help="each place of the Python files there")
    options = parser.parse_args()
    if options.list:
        for path in sorted(options.folder.rglob("*.py")):
            for riddle in riddles(path.read_text()):
                print(f"{path}:{riddle.line}: {riddle.form}: {riddle.text}")
        return 0
    for place, forms in count(options.folder).items():
        for form, number in forms.most_common():
            print(f"{place:8} {form:38} {number:6}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
