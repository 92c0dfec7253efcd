"""Environments: each applies a scene to a simulator and reads it back."""
