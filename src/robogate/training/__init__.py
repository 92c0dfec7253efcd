"""Trains the harness's own small policy on demonstrations of the scripted control.

No evaluation imports it, and nothing here is part of a contract: what a policy was trained on
stands in its checkpoint.
"""
