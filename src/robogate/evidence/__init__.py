"""Records that prove a run and can be recomputed by someone who trusts nobody."""
