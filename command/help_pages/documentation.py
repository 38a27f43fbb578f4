"""The place of the documentation, as the end of a help page names it.

The address is that of `Documentation` in pyproject.toml (`[project.urls]`), and has no copy here.
"""

from __future__ import annotations

_IN_THE_SOURCES = "docs/command-line.md in the sources of Ottla"


def documentation() -> str:
    """Return the documentation's address from the metadata of the installed package. Without one,
    return the path of the page about the command line in the sources."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        labelled_addresses = metadata("ottla").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from sources that are not installed
        labelled_addresses = []
    for labelled in labelled_addresses:
        label, _, address = labelled.partition(",")
        if label.strip() == "Documentation" and address.strip():
            return str(address.strip())
    return _IN_THE_SOURCES
