"""The composition root: builds environment, adapter and runner; owns the run folder."""
