"""The parser of filter expressions, whose syntax is a small part of CEL's.

    condition  = both ("||" both)*
    both       = negation ("&&" negation)*
    negation   = "!" negation | comparison
    comparison = operand (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in") operand)?
    operand    = primary ("." method "(" operand ")")*
    primary    = literal | "[" operands "]" | "has(" field ")" | "size(" operand ")" | field
               | "(" condition ")"
    field      = root ("." name | "[" text or number "]")*

`and`, `or`, `not` may stand for `&&`, `||`, `!`. There are no loops, so the time to evaluate an
expression is bounded by its length and by the size of a record. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from broker.config.start_error import StartError
from client.places import parse_place
from console.messages.filtering.expressions import (
    ROOTS,
    STRUCTURED,
    TEXT_METHODS,
    Both,
    Compare,
    Either,
    Expression,
    Field,
    Has,
    Items,
    Literal,
    Matches,
    Not,
    Size,
    TextCall,
)
from console.messages.filtering.tokens import END, NAME, NUMBER, SIGN, TEXT, Token, error, tokens_of
from console.messages.matching import BadPattern, compiled

CHARACTERS_MAX = 1000
DEPTH_MAX = 30
PATTERNS_MAX = 4
"""The number of regular expressions in a filter: each may take some memory and time."""
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_WORDS = {"and": "&&", "or": "||", "not": "!"}
_CONSTANTS = {"true": True, "false": False, "null": None}
_DATE = re.compile(r"\d{4}-")
_METHODS = (*TEXT_METHODS, "matches")


def parse(expression: str) -> Expression:
    """Return the expression of a filter. Raises BadFilter."""
    if len(expression) > CHARACTERS_MAX:
        raise error(CHARACTERS_MAX + 1, f"a filter has at most {CHARACTERS_MAX} characters")
    parser = _Parser(tokens_of(expression))
    condition = parser.condition()
    parser.expect_end()
    if isinstance(condition, Literal | Items | Size):
        raise error(1, 'a filter is a condition, such as value.status == "PAID"')
    return condition


class _Parser:
    """A parser by recursive descent; a method takes the tokens of the rule that it is named for."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._patterns = 0

    def condition(self) -> Expression:
        return self._chain("||", lambda: self._chain("&&", self._negation, Both), Either)

    def expect_end(self) -> None:
        token = self._tokens[self._next]
        if token.kind != END:
            raise error(token.at, f"{token.text} is not expected here: write && or || before it")

    # --- rules ------------------------------------------------------------------------------------

    def _chain(
        self,
        sign: str,
        part: Callable[[], Expression],
        kind: type[Both] | type[Either],
    ) -> Expression:
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _negation(self) -> Expression:
        negations = 0
        while self._takes("!"):
            negations += 1
        condition = self._comparison()
        return Not(condition) if negations % 2 else condition

    def _comparison(self) -> Expression:
        left = self._operand()
        for operator in _COMPARISONS:
            if self._takes(operator):
                at = self._at
                return _with_times(Compare(operator, left, self._operand()), at)
        return left

    def _operand(self) -> Expression:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise error(self._at, f"there are more than {DEPTH_MAX} parentheses inside each other")
        operand = self._primary()
        while self._takes("."):
            method = self._token(NAME, "a method")
            if method.text not in _METHODS:
                raise error(method.at, f"there is no method {method.text}: {', '.join(_METHODS)}")
            operand = self._call(method, operand)
        self._depth -= 1
        return operand

    def _call(self, method: Token, subject: Expression) -> Expression:
        self._expect("(", f"{method.text}(…)")
        at = self._at
        argument = self._operand()
        self._expect(")", "a closing parenthesis")
        if method.text != "matches":
            return TextCall(method.text, subject, argument)
        if not isinstance(argument, Literal) or not isinstance(argument.value, str):
            raise error(at, "matches(…) needs a regular expression in quotation marks")
        self._patterns += 1
        if self._patterns > PATTERNS_MAX:
            raise error(at, f"a filter has at most {PATTERNS_MAX} regular expressions")
        try:
            pattern = compiled(argument.value, is_regex=True, with_case=True)
        except BadPattern as bad:
            raise error(at, str(bad)) from None
        return Matches(subject, pattern.strict)

    def _primary(self) -> Expression:
        token = self._tokens[self._next]
        if token.kind == END:
            raise error(token.at, "the filter ends where a field or a value is expected")
        self._next += 1
        if token.kind == TEXT:
            return Literal(token.text)
        if token.kind == NUMBER:
            return Literal(_number(token))
        if token.text == "(":
            inner = self.condition()
            self._expect(")", "a closing parenthesis")
            return inner
        if token.text == "[":
            return self._items()
        if token.kind == NAME:
            return self._named(token)
        raise error(token.at, f"a field or a value is expected, not {token.text}")

    def _named(self, token: Token) -> Expression:
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text])
        if token.text == "has":
            return self._has()
        if token.text == "size" and self._takes("("):
            of = self._operand()
            self._expect(")", "a closing parenthesis")
            return Size(of)
        return self._field(token)

    def _has(self) -> Has:
        self._expect("(", "has(…)")
        token = self._token(NAME, "a field")
        field = self._field(token)
        self._expect(")", "a closing parenthesis")
        return Has(field)

    def _field(self, token: Token) -> Field:
        if token.text not in ROOTS:
            raise error(token.at, f"{token.text} is no field of a record: {', '.join(ROOTS)}")
        path: list[str | int] = []
        while token.text in STRUCTURED:
            if self._takes("["):
                path.append(self._index())
            elif self._is_member():
                self._next += 1
                path.append(self._token(NAME, "a member's name").text)
            else:
                break
        return Field(token.text, tuple(path))

    def _index(self) -> str | int:
        token = self._tokens[self._next]
        is_index = token.kind == NUMBER and token.text.isdecimal()
        if token.kind != TEXT and not is_index:
            raise error(token.at, 'a name or an index is expected, as in ["a-b"] or [0]')
        self._next += 1
        self._expect("]", "a closing bracket")
        return token.text if token.kind == TEXT else int(token.text)

    def _is_member(self) -> bool:
        """Return whether a member follows, and no method."""
        dot, name, *rest = self._tokens[self._next : self._next + 3] + [self._tokens[-1]] * 2
        if (dot.kind, dot.text) != (SIGN, "."):
            return False
        return not (name.text in _METHODS and rest[0].text == "(")

    def _items(self) -> Items:
        items: list[Expression] = []
        while not self._takes("]"):
            if items:
                self._expect(",", "a comma or a closing bracket")
            items.append(self._operand())
        return Items(tuple(items))

    # --- tokens -----------------------------------------------------------------------------------

    @property
    def _at(self) -> int:
        return self._tokens[self._next].at

    def _takes(self, sign: str) -> bool:
        """Take the next token if it is this sign or the word for it; return whether it is."""
        token = self._tokens[self._next]
        if token.kind == TEXT or _WORDS.get(token.text, token.text) != sign:
            return False
        self._next += 1
        return True

    def _expect(self, sign: str, what: str) -> None:
        if not self._takes(sign):
            raise error(self._at, f"{what} is expected")

    def _token(self, kind: str, what: str) -> Token:
        token = self._tokens[self._next]
        if token.kind != kind:
            raise error(token.at, f"{what} is expected")
        self._next += 1
        return token


def _number(token: Token) -> int | Decimal:
    if token.text.removeprefix("-").isdecimal():
        return int(token.text)
    try:
        return Decimal(token.text)
    except ArithmeticError:
        raise error(token.at, "this number is too large") from None


def _with_times(compare: Compare, at: int) -> Compare:
    """Return a comparison with `timestamp` in which dates are milliseconds. Raises BadFilter."""
    sides = [compare.left, compare.right]
    if Field("timestamp") not in sides:
        return compare
    left, right = (_as_time(side, at) for side in sides)
    return Compare(compare.operator, left, right)


def _as_time(side: Expression, at: int) -> Expression:
    if not isinstance(side, Literal) or not isinstance(side.value, str):
        return side
    try:
        if _DATE.match(side.value) is None:
            raise StartError("")
        return Literal(parse_place(f"@{side.value}", 0, "").number)
    except StartError:
        raise error(at, "a time is written as 2026-11-26T08:00Z, or in milliseconds") from None
