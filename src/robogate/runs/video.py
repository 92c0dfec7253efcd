"""One camera of one episode as an MP4, upright, written beside its name and renamed when complete.

Videos are for people: nothing that decides a score reads them. Equal frames give equal files on
one machine, because the encoder runs on one thread with fixed settings.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from robogate.records.observation import Image

#: H.264 settings, chosen by measurement (docs/reports.md): the cheapest preset whose files stay
#: small on the camera images of the benches.
CODEC = "libx264"
PRESET = "superfast"
CRF = "23"

PARTIAL_SUFFIX = ".partial"


class EpisodeVideo:
    """Encodes the frames of one camera.

    Args:
        path: Of the finished file.
        frames_per_second: The bench's control rate: one frame per observation.
        row_order: ``top_first`` or ``bottom_first``, of the images given to `add`.
    """

    def __init__(self, path: Path, *, frames_per_second: float, row_order: str) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}{PARTIAL_SUFFIX}")
        self._rate = Fraction(frames_per_second).limit_denominator(1000)
        self._bottom_first = row_order == "bottom_first"
        self._container: Any = None
        self._stream: Any = None
        self._frames = 0
        self._shape: tuple[int, ...] = ()

    def add(self, image: Image) -> None:
        """Encode one image, (height, width, 3) uint8, of the same size as the first.

        Raises:
            OSError: It cannot be written.
            ValueError: It has another size than the first.
        """
        import av

        if self._container is None:
            self._open(image.shape)
        elif image.shape != self._shape:
            raise ValueError(f"frame {self._frames} is {image.shape}, the first was {self._shape}")
        width, height = self._stream.width, self._stream.height
        frame = av.VideoFrame(width, height, "rgb24")
        plane = frame.planes[0]
        rows = np.frombuffer(plane, np.uint8).reshape(height, plane.line_size)
        target = rows[:, : 3 * width].reshape(height, width, 3)
        h, w = image.shape[:2]
        target[:h, :w] = image[::-1] if self._bottom_first else image
        # The chroma of yuv420p is halved, so an odd side is extended by its last row or column.
        target[h:, :w] = target[h - 1 : h, :w]
        target[:, w:] = target[:, w - 1 : w]
        frame.pts = self._frames
        frame.time_base = 1 / self._rate
        self._container.mux(self._stream.encode(frame))
        self._frames += 1

    def _open(self, shape: tuple[int, ...]) -> None:
        import av

        height, width = shape[:2]
        self._shape = shape
        self._container = av.open(
            str(self._partial), "w", format="mp4", options={"movflags": "+faststart"}
        )
        self._stream = self._container.add_stream(
            CODEC, rate=self._rate, options={"preset": PRESET, "crf": CRF, "threads": "1"}
        )
        self._stream.width = width + width % 2
        self._stream.height = height + height % 2
        self._stream.pix_fmt = "yuv420p"
        self._stream.thread_count = 1

    def finish(self) -> None:
        """Complete the file and give it its name; without a frame there is no file.

        Raises:
            OSError: It cannot be written.
        """
        if self._container is None:
            return
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._container = None
        self._partial.replace(self._path)

    def discard(self) -> None:
        """Leave nothing behind; for an episode whose video failed.

        Raises:
            OSError: The unfinished file cannot be removed.
        """
        import av

        container, self._container = self._container, None
        try:
            if container is not None:
                container.close()
        except (OSError, av.error.FFmpegError):
            # Closing writes the trailer; on a full disk it fails as the frame before it did, and
            # that first failure is the one that is reported.
            pass
        finally:
            self._partial.unlink(missing_ok=True)
