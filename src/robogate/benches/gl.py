"""Which OpenGL backend this machine has."""

from __future__ import annotations

import ctypes

from robogate.errors import UsageError

#: Backend to the libraries of which one must load.
GL_LIBRARIES = {
    "egl": ("libEGL.so.1", "libEGL.so"),
    "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),
}
GL_HINT = "apt-get install -y libegl1 libgl1-mesa-dri libosmesa6"


def resolve_gl(gl: str, key: str = "runtime.gl") -> str:
    """Choose the OpenGL backend.

    Args:
        gl: ``auto``, ``egl`` or ``osmesa``.
        key: Where the choice was made, for the message.

    Raises:
        UsageError: No library of the backend can be loaded; the message says what to type.
    """
    wanted = list(GL_LIBRARIES) if gl == "auto" else [gl]
    for name in wanted:
        if any(_loads(library) for library in GL_LIBRARIES.get(name, ())):
            return name
    libraries = " or ".join(GL_LIBRARIES[name][0] for name in wanted if name in GL_LIBRARIES)
    raise UsageError(
        f"{key}={gl}: no {libraries or 'such backend'} can be loaded; as root type: {GL_HINT}",
        code="gl",
    )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
