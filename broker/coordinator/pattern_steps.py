r"""An estimate of the work that RE2 has to compile a regular expression, from one walk over it.

RE2 expands an expression before it checks its own memory limit. It holds Python's interpreter lock
meanwhile, so a thread would not help. `\pL` 10,000 times takes 1.5 s and leaves 300 MB, `a{0,1000}`
30 times takes 1.5 s. Here each construct has a weight, in steps, for what it costs RE2.
A repetition multiplies the steps of the repeated piece.

Owns the weights. Estimates too much rather than too little. Never checks the syntax: RE2 does.
"""

from __future__ import annotations

import re

_LETTER = 1  # for each byte of UTF-8
_LETTER_OF_ANY_CASE = 2
_ALTERNATIVE = 12
_GROUP = 10
_SIGN = 6  # an anchor or an escaped letter
_CLASS = 15
_LARGE_CLASS = 40  # with letters of up to four bytes
_LETTER_IN_A_CLASS = 5
_REPETITION = 30
_UNICODE_CLASS = 5_000  # \p{L} has some 650 ranges

_ANY_CASE = re.compile(r"\(\?[a-zA-Z-]*i")
_UNICODE = re.compile(r"\\[pP]")
_SETS = {**dict.fromkeys("dsw", _CLASS), **dict.fromkeys("DSW", _LARGE_CLASS)}
# No alternative backtracks over more than a few letters: a walk takes linear time.
_TOKEN = re.compile(
    r"""(?P<text>[^\\\[(){}?*+.^$]+)
      | \\Q(?P<quoted>.*?)(?:\\E|\Z)
      | (?P<unicode>\\[pP](?:\{\^?\w{0,64}\}|.)?)
      | \\(?P<escaped>x\{[0-9a-fA-F]{0,8}\}|.|\Z)
      | (?P<class>\[\^?\]?(?:[^\]\\\[]|\\.|\[(?::\^?\w+:\])?)*\])
      | (?P<unclosed>\[)
      | (?P<flags>\(\?[a-zA-Z-]*\))
      | (?P<open>\((?:\?(?:P?<\w*>|[a-zA-Z-]*:))?)
      | (?P<close>\))
      | (?P<counted>\{([0-9]{1,4})(?:(,)([0-9]{0,4}))?\})
      | (?P<repeated>[*+?])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def count_steps(pattern: str, most: int) -> int:
    """Return an estimate of RE2's work to compile `pattern`, in steps; if that is more than `most`,
    any number above `most`. The syntax is not checked."""
    letter = _LETTER if _ANY_CASE.search(pattern) is None else _LETTER_OF_ANY_CASE
    # `outside`: the steps before the innermost open group. `groups`: for each open group, the steps
    # of its parent group before it.
    outside, groups = 0, [0]
    # In the innermost open group: the steps before its last piece, and the steps of that piece,
    # which a repetition may multiply.
    before, last = 0, 0
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind == "unclosed":
            break  # RE2 rejects the pattern here
        if kind == "repeated":
            last += _REPETITION
        elif kind == "counted":
            last = _counted(token, last)
        elif kind == "open":
            outside += before + last
            groups.append(before + last)
            before, last = _GROUP, 0
        elif kind == "close" and len(groups) > 1:
            last += before
            before = groups.pop()
            outside -= before
        else:
            first, piece = _pieces(kind, token, letter)
            before, last = before + last + first, piece
        if outside + before + last > most:
            break
    return outside + before + last


def _pieces(kind: str | None, token: re.Match[str], letter: int) -> tuple[int, int]:
    """Return the steps that a token of the pattern adds: before its last piece, and in its last
    piece, which a repetition after the token would multiply."""
    text = token[0]
    if kind == "text":
        alternatives = text.count("|")
        letters = letter * (_bytes_of(text) - alternatives)
        last = 0 if text[-1] == "|" else letter
        return letters - last + _ALTERNATIVE * alternatives, last
    if kind == "quoted":
        return 0, letter * _bytes_of(token["quoted"])
    if kind == "unicode":
        return 0, _UNICODE_CLASS
    if kind == "escaped":
        return 0, _SETS.get(token["escaped"], _SIGN)
    if kind == "class":
        unicode_classes = len(_UNICODE.findall(text))
        inside = _LETTER_IN_A_CLASS * _bytes_of(text)
        size = _LARGE_CLASS if text[1] == "^" or "\\" in text else _CLASS
        return 0, letter * (size + inside) + _UNICODE_CLASS * unicode_classes
    return 0, _LARGE_CLASS if text == "." else _SIGN


def _bytes_of(text: str) -> int:
    """Return the length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _counted(token: re.Match[str], piece: int) -> int:
    """Return the steps of a piece of `piece` steps under a counted repetition such as `{2,5}`; RE2
    parses the piece at least once."""
    least, is_range, most = int(token[11]), token[12] is not None, int(token[13] or -1)
    if most >= 0:
        return piece * max(1, least, most) + _REPETITION * max(0, most - least)
    return piece * max(1, least) + (_REPETITION if is_range else 0)
