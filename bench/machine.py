"""The environment of a run: the machine, Python and its build, Java."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from bench.page_cache import gives_free_memory_back
from tests.tools.java_tools import java_home_bin


def machine(fills_page_cache: bool) -> dict[str, str]:
    """Return the facts for the head of the report, by name."""
    load = " ".join(f"{average:.1f}" for average in os.getloadavg())
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{os.cpu_count()} × {_value_of('/proc/cpuinfo', 'model name')}",
        "memory": f"{int(_value_of('/proc/meminfo', 'MemTotal').split()[0]) / (1 << 20):.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, TCP by {_congestion_control()}",
        "free memory": free_memory(gives_free_memory_back(), fills_page_cache),
        "load before": load,
        "Python": f"{platform.python_version()}, {python_build()}",
        "Java": _java_version(),
    }


def free_memory(is_the_hosts: bool, fills_page_cache: bool) -> str:
    """Return whose the machine's free memory is; see `bench.page_cache` for its cost."""
    if not is_the_hosts:
        return "the machine's own"
    if fills_page_cache:
        return "taken back by the host; the page cache is filled before each window"
    return "taken back by the host: what writes pays for each page"


def python_build() -> str:
    """Return how this interpreter was compiled, which changes the figures by a seventh."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    ways = {"--enable-optimizations": "profile-guided", "--with-lto": "link-time optimized"}
    optimizations = [name for option, name in ways.items() if option in options]
    if optimizations:
        return " and ".join(optimizations)
    if sys.base_prefix == "/usr":
        return "the distribution's build"  # Debian's has both, unseen in its options
    return "plain build (neither PGO nor LTO)"


def _value_of(path: str, key: str) -> str:
    """Return the value of the first such key in a file of `key : value` lines, or "unknown"."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return "unknown"
    values = [line.partition(":")[2].strip() for line in lines if line.startswith(key)]
    return values[0] if values else "unknown"


def _congestion_control() -> str:
    """Return the system's default; an algorithm with pacing (bbr) slows large sends on loopback."""
    try:
        return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    except OSError:
        return "an unknown algorithm"


def _java_version() -> str:
    """Return the first line of `java -version`, "none" without a JVM."""
    java = java_home_bin()
    if java is None:
        return "none"
    done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    return (done.stderr or done.stdout).splitlines()[0]
