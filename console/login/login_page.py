"""The page on which a browser logs in: HTML with a form, which also works without script. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from console.login.logins import PASSWORD, TOKEN, USER

LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
OPEN_PATHS = ("/login.css", "/login.js", "/icon.svg")
"""The files that a browser needs before it is logged in."""

_LABELS = {
    USER: ("User", "text", "username"),
    PASSWORD: ("Password", "password", "current-password"),
    TOKEN: ("Token", "password", "off"),
}
_HINTS = {
    TOKEN: "Open the link that <code>ottla console</code> printed, or enter its token: it is in "
    "that link, or in the file of <code>--token-file</code>.",
    PASSWORD: "Users are in the file of <code>--password-file</code>.",
}


def login_page(fields: Sequence[str], error: str = "", user: str = "") -> str:
    """Return the page with these fields; `user` is already filled in."""
    rows = "".join(_field(name, user, is_first=name == fields[0]) for name in fields)
    alert = f'<p class="error" role="alert">{escape(error)}</p>' if error else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Log in · Ottla</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/login.css">
<script src="/login.js" defer></script>
</head>
<body>
<main>
<h1><img src="/icon.svg" alt="">Ottla</h1>
<form method="post" action="{LOGIN_PATH}">
{alert}{rows}<button>Log in</button>
</form>
<p class="hint">{_HINTS[fields[-1]]}</p>
</main>
</body>
</html>
"""


def _field(name: str, user: str, *, is_first: bool) -> str:
    label, kind, complete = _LABELS[name]
    value = f' value="{escape(user)}"' if name == USER and user else ""
    focus = " autofocus" if is_first else ""
    return (
        f'<label>{label}<input name="{name}" type="{kind}" autocomplete="{complete}" required'
        f' spellcheck="false" maxlength="1024"{value}{focus}></label>\n'
    )
