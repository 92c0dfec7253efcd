"""robogate: how often does this exact policy do this exact task?

Frozen, verified evaluation of robot manipulation policies. Importing this package imports
nothing else; `robogate --help` explains the command.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
