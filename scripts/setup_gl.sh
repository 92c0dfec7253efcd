#!/usr/bin/env bash
# Make sure that the simulator can render without a display: EGL, or else OSMesa.
set -euo pipefail
cd "$(dirname "$0")/.."

# A library that loads may still have no driver, so a context is made for real.
renders() {
  MUJOCO_GL=$1 .venv/bin/python -c \
    'import mujoco; c = mujoco.GLContext(16, 16); c.make_current(); c.free()' >/dev/null 2>&1
}

can_render() { renders egl || renders osmesa; }

can_render && exit 0

install="apt-get install -y --no-install-recommends libegl1 libgl1-mesa-dri"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing EGL and OSMesa"
  export DEBIAN_FRONTEND=noninteractive
  # Newer releases no longer ship OSMesa; EGL alone is enough.
  if ! { apt-get update -qq && { $install -qq libosmesa6 || $install -qq; }; } >/dev/null; then
    echo "robogate renders with EGL or OSMesa, and apt-get could not install them: $install" >&2
    exit 2
  fi
  can_render && exit 0
  echo "EGL is installed, and still no rendering context can be made:" >&2
  MUJOCO_GL=egl .venv/bin/python -c 'import mujoco; mujoco.GLContext(16, 16)' 2>&1 | tail -1 >&2 || true
  exit 2
fi
echo "robogate renders with EGL or OSMesa, and neither works here. Type this, then try again:" >&2
if command -v apt-get >/dev/null; then
  echo "  sudo $install libosmesa6" >&2
elif command -v dnf >/dev/null; then
  echo "  sudo dnf install -y mesa-libEGL mesa-dri-drivers" >&2
elif command -v pacman >/dev/null; then
  echo "  sudo pacman -S --needed libglvnd mesa" >&2
else
  echo "  (install Mesa's EGL library and its software driver with your package manager)" >&2
fi
exit 2
