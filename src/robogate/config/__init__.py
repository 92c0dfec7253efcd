"""Composing a contract from `conf/` and overrides: closed, typed, frozen, before anything runs.

Hydra finds, merges and overrides the YAML; it never decides a type. The composed values go through
the same schema-driven decoder that a validator uses, because a configuration library's own
conversions lose information: a revision ``1e5`` would become ``"100000.0"`` and ``shadows: 7``
true. Hydra is imported when a composition starts, never by importing this package.
"""

from robogate.config.runtime import Runtime

__all__ = ["Runtime"]
