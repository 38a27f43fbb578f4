"""`python -m tests.release`, which is `make release`: everything of a release but the upload.

Refuses, with one line, to release while the owner's table is empty, the tree is changed or the
version is used. Then builds the source distribution and the wheel from the commit, checks what
PyPI would show, and tries both in fresh environments: on each Python that is here, with the lowest
and the newest dependencies. Last it tags the commit, with the changelog's notes, and prints the
commands that publish. Nothing is uploaded and nothing is pushed.

With `--trial` the same is built and tried from the commit, but nothing is refused and no tag made.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.installation import ROOT, run
from tests.release.changelog import notes
from tests.release.environments import FreshEnvironment, requirements, root_pyproject
from tests.release.pythons import LOWEST, pythons
from tests.release.readiness import Checkout, git, refusal
from tests.release.trials import distribution_version, try_it


@dataclass(frozen=True)
class Case:
    """A distribution that is tried on a Python, with constraints on its dependencies."""

    distribution: Path
    python: str
    kind: str
    constraints: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the case in the output."""
        form = "wheel" if self.distribution.suffix == ".whl" else "sdist"
        return f"Python {self.python}, {form}, {self.kind} dependencies"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the release, and return the exit code: 1 if it is refused or a trial fails."""
    options = _options(arguments)
    checkout = Checkout.read(ROOT)
    reason = None if options.trial else refusal(checkout)
    if reason is not None:
        print(f"no release: {reason}", file=sys.stderr)
        return 1
    interpreters = pythons()
    if not interpreters:
        print(f"no release: no Python from {LOWEST} on is on PATH", file=sys.stderr)
        return 1
    print(f"{checkout.version} on Python {', '.join(interpreters)}", flush=True)
    commit = git(ROOT, "rev-parse", "HEAD").strip()
    with tempfile.TemporaryDirectory(prefix="ottla-release-") as name:
        distributions = _build(commit, Path(name), options.dist)
        failed = [
            case.name
            for case in _cases(distributions, interpreters, Path(name))
            if not _passes(case, interpreters[case.python], Path(name))
        ]
    if failed:
        print(f"no release: {len(failed)} failed: {'; '.join(failed)}", file=sys.stderr)
        return 1
    files = " ".join(str(file) for file in distributions)
    if options.trial:
        print(f"a trial: no tag was made for {files}")
        return 0
    tag(ROOT, checkout, commit)
    print(f"tagged {checkout.tag}. The owner publishes it with:")
    print(f"  git push origin {checkout.tag}\n  {sys.executable} -m twine upload {files}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("--trial", action="store_true", help="refuse nothing, and make no tag")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of what is built")
    return parser.parse_args(arguments)


def _build(commit: str, folder: Path, dist: Path) -> list[Path]:
    """Build both distributions from the files of the commit, and return their paths. Raises
    AssertionError if twine finds a fault in them."""
    sources = folder / "sources"
    sources.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    subprocess.run(["tar", "-x"], cwd=sources, input=archive, check=True)
    built = folder / "built"
    run([sys.executable, "-m", "build", "-o", built, sources], folder)
    dist.mkdir(exist_ok=True)
    files = [file.rename(dist / file.name) for file in sorted(built.iterdir())]
    twine = [sys.executable, "-m", "twine", "check", "--strict", *files]
    print(run(twine, folder, {"NO_COLOR": "1"}).strip(), flush=True)
    return files


def _cases(
    distributions: Sequence[Path], interpreters: dict[str, Path], folder: Path
) -> Iterator[Case]:
    """Yield each distribution on each Python, with the lowest and with the newest dependencies."""
    wanted = requirements(root_pyproject())
    for version, interpreter in interpreters.items():
        asking = FreshEnvironment.make(interpreter, folder / f"index-{version}")
        lowest = tuple(asking.lowest(wanted))
        print(f"lowest on Python {version}: {' '.join(lowest)}", flush=True)
        for kind, constraints in (("lowest", lowest), ("newest", ())):
            for distribution in distributions:
                yield Case(distribution, version, kind, constraints)


def _passes(case: Case, interpreter: Path, folder: Path) -> bool:
    """Try a case in a fresh environment, print the result, and return whether it passed."""
    began = time.monotonic()
    place = folder / case.name.replace(" ", "-").replace(",", "")
    said = ""
    with contextlib.ExitStack() as cleanup:
        try:
            environment = FreshEnvironment.make(interpreter, place)
            cleanup.callback(environment.remove)
            versions = environment.install(case.distribution, case.constraints)
            try_it(environment, distribution_version(case.distribution))
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            said = str(error)
    seconds = time.monotonic() - began
    if said:
        print(f"FAILED {case.name} ({seconds:.0f} s)\n{said}", flush=True)
        return False
    count = f"{len(versions)} packages, click {versions['click']}"
    print(f"passed {case.name} ({seconds:.0f} s; {count})", flush=True)
    return True


def tag(root: Path, checkout: Checkout, commit: str) -> None:
    """Make the annotated tag of the version, with the notes of the changelog."""
    message = f"Ottla {checkout.version}\n\n{notes(checkout.changelog, checkout.version)}"
    words = ["git", "tag", "-a", "--cleanup=verbatim", "-F", "-", checkout.tag, commit]
    subprocess.run(words, cwd=root, input=message, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
