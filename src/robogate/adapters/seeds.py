"""Seeds of single inferences, and generators that give the same numbers whoever else draws."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator

import numpy as np

_SEED_DOMAIN = "robogate.inference-seed/1"


def inference_seed(seed: int, number: int) -> int:
    """Seed of one inference, 63 bits: the same whatever other episodes do in between.

    Args:
        seed: Of the episode.
        number: Of the inference, from 1.
    """
    text = f"{_SEED_DOMAIN}\n{seed}\n{number}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1


@contextlib.contextmanager
def torch_seeded(seed: int | None) -> Iterator[None]:
    """Seed every generator of this process that a policy may draw from; restore them afterwards.

    One caller at a time: the generators are the process's.

    Args:
        seed: None leaves them as they are.
    """
    if seed is None:
        yield
        return
    import torch

    python_state, numpy_state = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)
