"""Which rows of `tests/differential/differences.toml` explain what the table finds."""

from __future__ import annotations

from dataclasses import dataclass

from tests.authorization.denials.rows import BROKER, CONTROLLER, Case


@dataclass(frozen=True)
class Explained:
    """By the row `id`: all that differs in the answers of an API on one listener, or of those rows
    that have this `what`."""

    id: str
    api: str
    listener: str
    what: str = ""

    def is_about(self, case: Case) -> bool:
        of_api = (case.row.api, case.listener) == (self.api, self.listener)
        return of_api and self.what in ("", case.row.what)


EXPLAINED = (
    Explained("scram-credentials-of-a-controller", "DESCRIBE_USER_SCRAM_CREDENTIALS", CONTROLLER),
    Explained("delegation-tokens-of-a-controller", "DESCRIBE_DELEGATION_TOKEN", CONTROLLER),
    Explained("first-find-coordinator", "FIND_COORDINATOR", BROKER, "of a share group"),
)


def row_of(case: Case) -> str | None:
    """The row that explains what differs in its answer, if one does."""
    return next((one.id for one in EXPLAINED if one.is_about(case)), None)
