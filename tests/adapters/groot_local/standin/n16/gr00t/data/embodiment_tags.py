"""A stand-in, see conftest.py."""

from enum import Enum


class EmbodimentTag(Enum):
    LIBERO_PANDA = "libero_panda"
    LIBERO_SIM = "libero_sim"
    GR1 = "gr1"
