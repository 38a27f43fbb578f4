"""Where the packages lie in the wheel; the rest about it stands in pyproject.toml.

Only `ottla` comes onto the import path. The others, which imports here call by their plain names,
are packed under `ottla/_server`, which `ottla/__main__.py` puts on the path of our own processes.
"""

from setuptools import find_namespace_packages, setup

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

packages = find_namespace_packages(include=[f"{name}*" for name in SERVER])
setup(
    packages=[
        "ottla",
        "ottla.plugins",
        "ottla.testing",
        "ottla.testing.simulation",
        *(f"ottla._server.{name}" for name in packages),
    ],
    package_dir={f"ottla._server.{name}": name for name in SERVER},
)
