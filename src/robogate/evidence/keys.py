"""Key files: Ed25519, PEM, outside every bundle: a key that came with it would prove nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robogate.contract.files import fsync_directory
from robogate.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

PRIVATE_NAME = "robogate.key"
PUBLIC_NAME = "robogate.pub"

_MAX_KEY_BYTES = 64 * 1024


def default_key_folder() -> Path:
    """Where `robogate keygen` puts keys: the user's configuration folder."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base else Path.home() / ".config") / "robogate"


def create_keys(folder: Path) -> tuple[Path, Path]:
    """Make a key pair: PKCS#8 PEM with mode 0600, and the public key as PEM.

    Returns:
        Path of the private and of the public key.

    Raises:
        UsageError: One of the files is there already, or the folder cannot be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    paths = folder / PRIVATE_NAME, folder / PUBLIC_NAME
    for path in paths:
        if path.exists() or path.is_symlink():
            raise UsageError(
                f"{path} exists; a key is never overwritten, give another folder with --out",
                code="key",
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _create(paths[0], private, 0o600)
        try:
            _create(paths[1], public, 0o644)
        except BaseException:
            paths[0].unlink(missing_ok=True)
            raise
        fsync_directory(folder)
    except OSError as exc:
        raise UsageError(
            f"keys cannot be written to {folder} ({exc.strerror or exc})", code="key"
        ) from exc
    return paths


def _create(path: Path, data: bytes, mode: int) -> None:
    """Write a file that must not exist; nobody else can read it at any moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key that nobody else can read.

    Raises:
        UsageError: Missing, readable by others, encrypted, a public key, or of another kind.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data, mode = _read_key(path)
    if b"PUBLIC KEY" in data:
        raise UsageError(f"{path}: is a public key; sign with the private one", code="key")
    if mode & 0o077:
        raise UsageError(
            f"{path}: mode {stat.S_IMODE(mode):04o} lets others read the private key; "
            f"chmod 600 {path}",
            code="key",
        )
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except TypeError as exc:
        raise UsageError(
            f"{path}: the key is encrypted; store it in plain PEM", code="key"
        ) from exc
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise UsageError(f"{path}: not a private key in PEM form", code="key") from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path}: {_kind(key)}, expected Ed25519 (robogate keygen)", code="key")
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key.

    Raises:
        UsageError: Missing, a private key, or of another kind.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    data, _ = _read_key(path)
    if b"PRIVATE KEY" in data:
        raise UsageError(
            f"{path}: is a private key; verify with the public one, {PUBLIC_NAME}", code="key"
        )
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise UsageError(f"{path}: not a public key in PEM form", code="key") from exc
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path}: {_kind(key)}, expected Ed25519 (robogate keygen)", code="key")
    return key


def _read_key(path: Path) -> tuple[bytes, int]:
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_KEY_BYTES), os.fstat(stream.fileno()).st_mode
    except OSError as exc:
        raise UsageError(f"{path}: cannot be read ({exc.strerror})", code="key") from exc


def _kind(key: Any) -> str:
    return type(key).__name__.replace("PrivateKey", " key").replace("PublicKey", " key").strip("_")
