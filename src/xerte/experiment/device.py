"""Devices by name."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from xerte.errors import InputError

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # as malloc.h numbers them


def choose_device(device: str) -> torch.device:
    """The device of this name; "auto" is the GPU where there is one.

    Raises:
        InputError: there is no such device.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        if chosen not in (torch.device("cpu"), torch.device("cuda", chosen.index)):
            raise RuntimeError(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError):
        here = "cpu, cuda or auto" if torch.cuda.is_available() else "cpu or auto (no GPU is found)"
        raise InputError(f"there is no device {device} here: choose {here}") from None
    if chosen.type == "cpu":
        _keep_memory()
    return chosen


@contextmanager
def one_thread() -> Iterator[None]:
    """Small work is done sooner by one thread than by several that meet after every operation."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def share_threads(device: torch.device, most: int) -> int:
    """Divides torch's threads among so many that work at once, fewer where there are fewer; how many may.

    Torch then uses less than the whole machine for each of them, for as long as the process lives.
    """
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1:  # a GPU does one thing after another
        return 1
    at_once = min(most, threads)
    torch.set_num_threads(threads // at_once)
    return at_once


@cache
def _keep_memory() -> None:
    """Lets the C library keep up to a GiB of freed memory instead of giving it back between operations.

    Every operation on wide tensors would otherwise ask the system for fresh pages, which cost as much as the operation.
    Other C libraries than glibc are left as they are.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for option, value in ((_MMAP_THRESHOLD, 1 << 30), (_TRIM_THRESHOLD, 1 << 30), (_TOP_PAD, 1 << 26)):
        mallopt(option, value)
