"""The error of an operation that cannot do what a test asks for, with a text for the user."""

from __future__ import annotations


class OperationError(Exception):
    """The failure of an operation. Its text is for the user.

    `kind` is a kind of `ottla.testing.errors`: "failed" if a broker refuses the request or does not
    answer, "deadline" if something did not become true within the time-out, "misuse", or "not
    possible".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
