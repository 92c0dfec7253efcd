"""The frozen, fully resolved config of what is measured, and its hash."""
