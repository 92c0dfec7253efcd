"""Where the committed files lie: beside `src/` in a checkout, inside the package in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def checkout_root() -> Path | None:
    """The repository's root where this package is used from a checkout, else None."""
    root = _PACKAGE.parent.parent
    return root if _PACKAGE.parent.name == "src" and (root / "pyproject.toml").is_file() else None


def _committed(name: str) -> Path:
    packaged = _PACKAGE / name
    root = checkout_root()
    return packaged if root is None else root / name


def conf_dir() -> Path:
    """Folder of the config groups."""
    return _committed("conf")


def manifests_dir() -> Path:
    """Folder of the scenario manifests and asset inventories."""
    return _committed("manifests")


def data_dir() -> Path:
    """Folder of the pinned assets: `data/` of the checkout, else of the working directory."""
    return (checkout_root() or Path.cwd()) / "data"
