"""Makes this Python like one on Windows, as far as that is possible elsewhere. Python imports it at its start.

The modules, functions and constants that Windows does not have are removed. What Windows refuses is refused: to open a
folder, to replace or remove an open file, to inherit file descriptors, signal handlers and readers of an event loop.
Programs that are started from here inherit all of this, because it is on PYTHONPATH.
"""

import asyncio
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"}
NAMES = {
    os: (
        "fork", "forkpty", "setsid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgid", "killpg",
        "chown", "fchmod", "fchown", "pread", "pwrite", "statvfs", "sysconf", "uname", "nice", "getloadavg", "mkfifo",
        "sendfile", "sched_getaffinity",
        "posix_fallocate", "posix_fadvise", "wait", "wait4", "O_DIRECTORY", "O_NOFOLLOW",
        "O_CLOEXEC", "O_NONBLOCK", "O_SYNC", "O_DSYNC", "register_at_fork", "pipe2", "fdatasync",
    ),
    signal: (
        "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGPIPE", "SIGALRM", "SIGCHLD", "SIGCONT",
        "SIGSTOP", "SIGTSTP", "setitimer", "alarm", "pause", "pthread_sigmask", "pthread_kill", "sigwait",
    ),
    socket: ("AF_UNIX", "SO_REUSEPORT", "MSG_DONTWAIT", "MSG_NOSIGNAL", "send_fds", "recv_fds"),
}  # fmt: skip


class _NotThere:
    """Finds no module of ``MODULES``."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _not_implemented(*_: object) -> None:
    raise NotImplementedError


def _is_open_here(path: str | Path) -> bool:
    real = os.path.realpath(path)
    return any(os.path.realpath(file) == real for file in Path("/proc/self/fd").iterdir())


def _refusing(real, is_refused):
    """A function of ``os`` that refuses some paths as Windows does."""

    def function(path, *more, **options):
        paths = [path, *more[:1]] if real is _replace else [path]
        for one in paths:
            if isinstance(one, str | Path) and is_refused(one):
                raise PermissionError(13, "Permission denied", str(one))
        return real(path, *more, **options)

    return function


# Windows has pairs of sockets, of another family.
socket.socketpair = functools.partial(socket.socketpair, socket.AF_UNIX)
for module in MODULES:
    sys.modules.pop(module, None)
sys.meta_path.insert(0, _NotThere)
for module, names in NAMES.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for name in ("add_signal_handler", "remove_signal_handler", "add_reader", "remove_reader", "add_writer"):
    setattr(asyncio.SelectorEventLoop, name, _not_implemented)
_replace, _start = os.replace, subprocess.Popen.__init__
os.open = _refusing(os.open, os.path.isdir)
os.replace = os.rename = _refusing(_replace, _is_open_here)
os.unlink = os.remove = _refusing(os.unlink, _is_open_here)
shutil._use_fd_functions = False
# On POSIX systems it removes an open file.
tempfile.TemporaryFile = tempfile.NamedTemporaryFile


def _start_like_windows(self, *arguments, pass_fds=(), preexec_fn=None, **options):
    if pass_fds or preexec_fn:
        raise ValueError("not supported on Windows")
    _start(self, *arguments, **options)


subprocess.Popen.__init__ = _start_like_windows
