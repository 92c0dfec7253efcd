"""One setting of the C library's allocator, for processes through which images pass."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEEP_BYTES = 64 << 20
_LARGEST_BYTES = 32 << 20


def keep_freed_memory() -> bool:
    """Let the process keep up to 64 MB of freed memory instead of returning it to the kernel.

    Two images of 200 KB come and go at every step. By default their memory is returned each time
    and faulted in again page by page, which costs more than copying the images does.

    Returns:
        Whether the C library has such a setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES) and mallopt(_M_TRIM_THRESHOLD, _KEEP_BYTES)
    return bool(kept)
