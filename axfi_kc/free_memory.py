"""How much memory the process takes, and how much more it may take: of the machine, and within limits set for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["free_memory", "resident_memory"]


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GROUPS = Path("/sys/fs/cgroup")
# where groups are, the files with their limit and their use, and the entry for what of it could be given back
_VERSIONS = {
    "": (_GROUPS, "memory.max", "memory.current", "inactive_file"),
    "memory": (_GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def resident_memory() -> int:
    """Return the resident memory of the process in bytes; 0 where the system does not say."""
    return _pages(1) * _PAGE


def _pages(place: int) -> int:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[place])
    except (OSError, ValueError, IndexError):
        return 0


def free_memory() -> int | None:
    """Return how many bytes the process may still take; None where the system does not say.

    The least of what the machine has, what the control groups of the process leave, and what ``ulimit -v`` leaves.

    Notes
    -----
    A tenth of a millisecond.
    """
    try:
        free = [1024 * _entry(Path("/proc/meminfo"), "MemAvailable:"), *_left_by_groups()]
    except (OSError, ValueError, StopIteration):
        return None
    import resource  # every system with /proc/meminfo has it

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        free.append(most - _pages(0) * _PAGE)
    return max(min(free), 0)


def _entry(file: Path, name: str) -> int:
    lines = (line.split() for line in file.read_text().splitlines())
    return next(int(words[1]) for words in lines if words[0] == name)


def _left_by_groups() -> Iterator[int]:
    """Yield what each control group of the process leaves, from its own up to the root."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in _VERSIONS.keys() & {*kinds.split(",")}:
            root, *names = _VERSIONS[kind]
            own = root / path.lstrip("/")
            for group in (own, *own.parents[: len(own.parts) - len(root.parts)]):
                left = _left_by(group, *names)
                if left is not None:
                    yield left


def _left_by(group: Path, limit: str, used: str, idle: str) -> int | None:
    try:
        most = int((group / limit).read_text())
        return most - int((group / used).read_text()) + _entry(group / "memory.stat", idle)
    except (OSError, ValueError, StopIteration):
        return None  # no limit ("max"), or a group that is not shown inside a container
