"""A stand-in, see conftest.py."""
