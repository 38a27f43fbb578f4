"""The site of `docs/`, built by `make docs` into `build/docs/`.

Sphinx reads the Markdown of the repository where it lies, so links are the same as on GitHub, and a
page of the site has the path of its file. A reader's browser fetches nothing from elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

from navigation import HOME, pages  # noqa: E402

project = "Ottla"
copyright = "2026, the Ottla authors"
html_title = "Ottla"
extensions = ["myst_parser", "github_markdown", "source_pages"]

root_doc = HOME
include_patterns = [f"{page}.md" for page in pages()]
# Folders that Sphinx need not look through: a virtual environment has thousands of files.
exclude_patterns = [
    one.name
    for one in ROOT.iterdir()
    if one.is_dir() and not any(page.startswith(f"{one.name}/") for page in pages())
]

# GitHub's names of headings; `{.class}` behind a picture.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

html_theme = "furo"
html_static_path = ["static"]
# The way from the folder to the home page, which is in docs/ as here.
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#0f766e",
        "color-brand-content": "#0f766e",
        "color-brand-visited": "#0f766e",
        "color-sidebar-link-text": "#4a5460",
        "color-sidebar-link-text--top-level": "#4a5460",
        "color-sidebar-item-background--current": "#e0f2f0",
    },
    "dark_css_variables": {
        "color-brand-primary": "#2dd4bf",
        "color-brand-content": "#2dd4bf",
        "color-brand-visited": "#2dd4bf",
        "color-sidebar-link-text": "#aab3bc",
        "color-sidebar-link-text--top-level": "#aab3bc",
        "color-sidebar-item-background--current": "#10302d",
    },
}
pygments_style = "friendly"
pygments_dark_style = "one-dark"


def setup(app: Sphinx) -> None:
    app.add_lexer("log", TextLexer)
