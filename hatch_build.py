"""Build hook: a wheel carries `conf/` and `manifests/` inside the package.

A static `force-include` would also copy both into site-packages on an editable install, where the
copies would go stale at the first edit; so the folders are added to ordinary wheels only.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackageData(BuildHookInterface):
    """Adds the config groups and the manifests to a wheel that is not editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs before the wheel is built; `version` is `standard` or `editable`."""
        if version != "editable":
            build_data["force_include"].update(
                {"conf": "robogate/conf", "manifests": "robogate/manifests"}
            )
