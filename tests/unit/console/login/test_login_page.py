"""The page of the login has the fields of the login, and shows texts of a request harmlessly."""

from __future__ import annotations

import re

from console.login.login_page import login_page

MARKUP = '"><script>alert(1)</script>'


def test_the_fields() -> None:
    assert re.findall(r'name="(\w+)" type="(\w+)"', login_page(("token",))) == [
        ("token", "password")
    ]
    page = login_page(("user", "password"), "Wrong.", "anna")
    assert re.findall(r'<input name="(\w+)"', page) == ["user", "password"]
    assert 'value="anna"' in page
    assert '<p class="error" role="alert">Wrong.</p>' in page


def test_markup_is_text() -> None:
    page = login_page(("user", "password"), MARKUP, MARKUP)
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 2
