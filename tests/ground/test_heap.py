"""Threads of a process that asked for it share heaps."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS = 6
HEAPS = f"""\
import ctypes, threading
from autoquant import heap

if {{share}}:
    assert heap.share_heaps(2)
together = threading.Barrier({THREADS})

def work():
    kept = bytearray(100_000)
    together.wait()

threads = [threading.Thread(target=work) for _ in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def heaps(share: bool) -> int:
    told = subprocess.run(
        [sys.executable, "-c", HEAPS.format(share=share)], env={}, capture_output=True, text=True, check=True
    ).stdout
    return told.count("<heap nr=")


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library here is not glibc")


@needs_glibc
def test_threads_share_two_heaps_instead_of_having_one_each() -> None:
    assert heaps(share=False) > 2
    assert 2 == heaps(share=True)


HELD_DOWN = """\
import psutil
from autoquant import heap

mine = psutil.Process()
both = [(bytes([n % 256]) * 100_000, bytes([n % 256]) * 2_000) for n in range(500)]
small = [one for _, one in both]
del both
before = mine.memory_full_info().uss
assert heap.give_back()
print(before - mine.memory_full_info().uss)
"""


@needs_glibc
def test_what_small_things_held_down_goes_back_to_the_system() -> None:
    """50 MB are free between things that live on: without a call glibc keeps them."""
    told = subprocess.run([sys.executable, "-c", HELD_DOWN], env={}, capture_output=True, text=True, check=True).stdout
    assert 40e6 < int(told)
