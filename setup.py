"""Where the packages lie in the wheel, and what PyPI shows of the owner and of the README.

The rest stands in pyproject.toml. Only `ottla` comes onto the import path. The others, which
imports here call by their plain names, are packed under `ottla/_server`, which `ottla/__main__.py`
puts on the path of our own processes. Beside them lies `conf/server.properties`, which
`ottla config example` prints.

The owner's name and addresses come from the table `[tool.ottla.owner]` of pyproject.toml. While
they are empty there, the metadata has no links, and the links of the README stay relative.
"""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

SERVER = (
    "broker",
    "client",
    "command",
    "console",
    "controller",
    "ground",
    "log_format",
    "pipeline",
    "protocol",
    "simulation",
    "storage",
    "testbed",
)
CONF = "conf"
HERE = Path(__file__).resolve().parent
URLS = ("homepage", "source", "issues", "documentation", "changelog", "security")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
RELATIVE = r"\((?![a-z][a-z0-9+.-]*:|#)([^)\s]+)\)"
PICTURE = re.compile(r"(!\[[^\]]*\])" + RELATIVE)
LINK = re.compile(r"(\])" + RELATIVE)


def absolute(page: str, source: str, version: str) -> str:
    """Return a Markdown page of the root with absolute links to the repository at `source`.

    The links lead to the tag of the version; a version in development has none, so they lead to
    the newest commit. Examples in fences stay as they are.
    """
    if not source:
        return page
    root = source.rstrip("/")
    ref = "HEAD" if ".dev" in version else f"v{version}"
    parts = FENCE.split(page)
    for place in range(0, len(parts), 2):
        prose = PICTURE.sub(rf"\1({root}/raw/{ref}/\2)", parts[place])
        parts[place] = LINK.sub(rf"\1({root}/blob/{ref}/\2)", prose)
    return "".join(parts)


class FreshBuild(build_py):
    """A build without the files of earlier builds.

    `pip install .` leaves `build/lib`, and setuptools packs all that lies there: a module that a
    later `git pull` removes would stay in the wheel.
    """

    def run(self) -> None:
        """Empty the folder of the build if it is setuptools' own, then fill it."""
        own = Path(self.get_finalized_command("build").build_base)
        if own in Path(self.build_lib).parents:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


pyproject = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))
owner = pyproject["tool"]["ottla"]["owner"]
version = pyproject["project"]["version"]
packages = find_namespace_packages(include=[f"{name}*" for name in SERVER])
setup(
    cmdclass={"build_py": FreshBuild},
    packages=[
        "ottla",
        "ottla.plugins",
        "ottla.testing",
        "ottla.testing.simulation",
        *(f"ottla._server.{name}" for name in (*packages, CONF)),
    ],
    package_dir={f"ottla._server.{name}": name for name in (*SERVER, CONF)},
    # setuptools wants a dynamic field to be set, so these are fields without a value while empty.
    author=owner["author"],
    author_email=owner["author-email"],
    project_urls={
        name.capitalize(): owner[name] for name in URLS if owner[name].startswith("https://")
    },
    long_description=absolute((HERE / "README.md").read_text("utf-8"), owner["source"], version),
    long_description_content_type="text/markdown",
)
