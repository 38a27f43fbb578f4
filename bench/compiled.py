"""C programs of the bench, compiled once by `cc` into the project's cache."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from tests.tools.java_tools import CACHE_DIR, built_once, digest


@cache
def compiled(source: Path) -> Path:
    """Return the program of a C file, compiled if needed.

    Raises RuntimeError if there is no C compiler, or if it rejects the file.
    """

    def build(folder: Path) -> None:
        """Compile into the folder.

        Raises RuntimeError without a compiler or if it refuses the source.
        """
        program = folder / source.stem
        command = ["cc", "-O2", "-Wall", "-Wextra", "-o", str(program), str(source)]
        # A killed compiler leaves temporary files, which are removed with this folder.
        environment = {**os.environ, "TMPDIR": str(folder)}
        try:
            subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True, timeout=60
            )
        except FileNotFoundError:
            raise RuntimeError(f"a C compiler (cc) is needed for {source.name}") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"cc refuses {source.name}: {error.stderr}") from error

    return built_once(CACHE_DIR / "bench" / digest(source), build) / source.stem
