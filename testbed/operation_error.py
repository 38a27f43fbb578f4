"""What an operation raises where it does not do what it was asked for."""

from __future__ import annotations


class OperationError(Exception):
    """Its text is for the user, and `kind` says which error that is for them.

    One of `ottla.testing.errors`: "failed" where a broker refuses it or nobody answers, "deadline"
    where something did not become true, "misuse", "not possible".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
