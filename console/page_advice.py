"""The client's errors for the page: advice for a command line becomes advice for the page.

The commands of `ottla` print the same errors, so some of them name an option or a command to run.
"""

from __future__ import annotations

import re

from client.connection import START_ADVICE
from client.refusals import LOGIN_ADVICE

PAGE_LOGIN_ADVICE = "an administrator can add an ACL for the console's login"
PAGE_START_ADVICE = ": check that the cluster is running"
_START = re.compile(re.escape(START_ADVICE) + r"( --port \d+)?")


def for_page(text: str) -> str:
    """Return the text of an error with the console's advice in place of a command's."""
    return _START.sub(PAGE_START_ADVICE, text).replace(LOGIN_ADVICE, PAGE_LOGIN_ADVICE)
