"""What Linux has and macOS has not, and how a process is made to look like one on macOS.

The names are those that typeshed keeps from darwin, as far as a broker could come to use them, and
`preadv` and `pwritev`, which macOS has from 11 on. Of the C library and of `/proc` Ottla's own code
is kept away; tests and the tools that they use look into them as ever. What macOS has in another
form gets that form: `os.sendfile`, and `fcntl(F_FULLFSYNC)`, which is an `fsync` here.
"""

from __future__ import annotations

import sys
import sysconfig
import tomllib
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

NAMES = {
    "errno": (
        "EADV EBADE EBADFD EBADR ECOMM EISNAM ELNRNG ENONET ENOTUNIQ EREMCHG EREMOTEIO ERESTART "
        "ESTRPIPE EUCLEAN"
    ),
    "fcntl": (
        "DN_ACCESS DN_ATTRIB DN_CREATE DN_DELETE DN_MODIFY DN_MULTISHOT DN_RENAME F_ADD_SEALS "
        "F_GETPIPE_SZ F_GETSIG F_GET_SEALS F_NOTIFY F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW "
        "F_SEAL_GROW F_SEAL_SEAL F_SEAL_SHRINK F_SEAL_WRITE F_SETPIPE_SZ F_SETSIG LOCK_MAND "
        "LOCK_READ LOCK_RW LOCK_WRITE"
    ),
    "mmap": (
        "MADV_DODUMP MADV_DOFORK MADV_DONTDUMP MADV_DONTFORK MADV_HUGEPAGE MADV_HWPOISON "
        "MADV_MERGEABLE MADV_NOHUGEPAGE MADV_REMOVE MADV_UNMERGEABLE MAP_DENYWRITE MAP_EXECUTABLE "
        "MAP_POPULATE MAP_STACK"
    ),
    "os": (
        "EFD_CLOEXEC EFD_NONBLOCK EFD_SEMAPHORE GRND_NONBLOCK GRND_RANDOM MFD_ALLOW_SEALING "
        "MFD_CLOEXEC O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_RSYNC O_TMPFILE POSIX_FADV_DONTNEED "
        "POSIX_FADV_NOREUSE POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL "
        "POSIX_FADV_WILLNEED P_PIDFD RWF_APPEND RWF_DSYNC RWF_HIPRI RWF_NOWAIT RWF_SYNC "
        "SCHED_BATCH SCHED_IDLE SPLICE_F_MORE SPLICE_F_MOVE SPLICE_F_NONBLOCK copy_file_range "
        "eventfd eventfd_read eventfd_write fdatasync getrandom getresgid getresuid getxattr "
        "listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate preadv pwritev "
        "removexattr sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity "
        "sched_setparam sched_setscheduler setns setresgid setresuid setxattr splice unshare waitid"
    ),
    "resource": "RLIMIT_NICE RLIMIT_OFILE RLIMIT_RTPRIO RLIMIT_SIGPENDING RUSAGE_THREAD prlimit",
    "select": (
        "EPOLLERR EPOLLET EPOLLEXCLUSIVE EPOLLHUP EPOLLIN EPOLLONESHOT EPOLLOUT EPOLLPRI "
        "EPOLLRDHUP EPOLL_CLOEXEC POLLMSG POLLRDHUP epoll"
    ),
    "signal": (
        "SIGCLD SIGPOLL SIGPWR SIGRTMAX SIGRTMIN SIGSTKFLT pidfd_send_signal sigtimedwait "
        "sigwaitinfo"
    ),
    "socket": (
        "AF_ALG AF_NETLINK AF_PACKET AF_VSOCK MSG_CMSG_CLOEXEC MSG_CONFIRM MSG_ERRQUEUE "
        "MSG_FASTOPEN MSG_MORE SCM_CREDENTIALS SOCK_CLOEXEC SOCK_NONBLOCK SO_BINDTODEVICE "
        "SO_DOMAIN SO_INCOMING_CPU SO_MARK SO_PASSCRED SO_PEERCRED SO_PRIORITY SO_PROTOCOL "
        "TCP_CONGESTION TCP_CORK TCP_DEFER_ACCEPT TCP_INFO TCP_KEEPIDLE TCP_LINGER2 TCP_QUICKACK "
        "TCP_SYNCNT TCP_USER_TIMEOUT TCP_WINDOW_CLAMP"
    ),
    "time": "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid",
}
"""By module, what only Linux has of it."""
C_FUNCTIONS = ("fallocate", "malloc_trim", "prctl", "sync_file_range")
"""Of the C library."""
FOLDERS = ("/proc", "/sys")
"""Where Linux tells of itself."""

FULL_FSYNC = 51
_BEHIND = {"os": "posix", "socket": "_socket", "signal": "_signal"}
"""Modules of C that have the same names."""
_BY_PLATFORM = ("psutil",)
"""What tests use, and what has another half for each platform: loaded as what it is here."""
_ROOT = Path(__file__).resolve().parents[2]
_PYPROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())
_OURS = tuple(
    f"{_ROOT}/{package}/"
    for package in _PYPROJECT["tool"]["importlinter"]["root_packages"]
    if package != "pipeline"
)
_LIBRARY = tuple({sys.prefix, sys.base_prefix, "<frozen"})


def take_away() -> None:
    """Make this process look so, once and for all."""
    _remove("select")  # asyncio's way to wait is chosen at its import, which psutil brings along
    for name in _BY_PLATFORM:
        with suppress(ImportError):
            import_module(name)
    sysconfig.get_config_vars()  # read once, from a module that has the platform in its name
    for name in NAMES:
        _remove(name)
    _give_macos_forms()
    sys.platform = "darwin"
    # What urllib.request asks on macOS for the proxies of its settings.
    proxies = ModuleType("_scproxy")
    vars(proxies).update(_get_proxies=dict, _get_proxy_settings=dict)
    sys.modules["_scproxy"] = proxies
    sys.addaudithook(_refuse)


def _remove(module_name: str) -> None:
    for one in filter(None, (module_name, _BEHIND.get(module_name))):
        module = import_module(one)
        for name in NAMES[module_name].split():
            if hasattr(module, name):
                delattr(module, name)


def _give_macos_forms() -> None:
    import fcntl
    import os

    real_fcntl, real_sendfile = fcntl.fcntl, os.sendfile

    def fcntl_of_macos(fd: Any, command: int, argument: Any = 0) -> Any:
        return os.fsync(fd) or 0 if command == FULL_FSYNC else real_fcntl(fd, command, argument)

    def sendfile_of_macos(
        out_fd: int,
        in_fd: int,
        offset: int,
        count: int,
        headers: Any = (),
        trailers: Any = (),
        flags: int = 0,
    ) -> int:
        if headers or trailers or flags:
            raise NotImplementedError("this one sends nothing but the file")
        count = count or max(0, os.fstat(in_fd).st_size - int(offset))  # 0: all that is left
        return real_sendfile(out_fd, in_fd, int(offset), count) if count else 0

    vars(fcntl).update(F_FULLFSYNC=FULL_FSYNC, fcntl=fcntl_of_macos)
    vars(os).update(sendfile=sendfile_of_macos)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "ctypes.dlsym":
        if arguments[1] in C_FUNCTIONS:
            raise AttributeError(f"symbol not found: {arguments[1]}")
    elif event in ("open", "os.listdir", "os.scandir"):
        path = arguments[0]
        if isinstance(path, str) and path.startswith(FOLDERS) and _ours(sys._getframe(1)):
            raise FileNotFoundError(2, "No such file or directory", path)


def _ours(frame: FrameType | None) -> bool:
    """Whether Ottla asks, by whichever functions of the standard library."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_OURS):
            return True
        if not name.startswith(_LIBRARY) or "site-packages" in name:
            return False
        frame = frame.f_back
    return False
