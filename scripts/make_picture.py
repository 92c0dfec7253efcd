"""Draw one scenario of each label at the moment its block is lifted, from a recorded run.

    python -m robogate adapter=oracle budget=smoke
    python scripts/make_picture.py outputs/latest docs/images/scenarios.png

Frames come from the run's videos, the moment from the transitions in its result. A scenario whose
block was not lifted is shown as it ended.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image, ImageDraw

from robogate.contract.canonical import read_json

COLUMNS = 4
TILE = 160  # px
CAPTION = 18  # px, under each tile
GAP = 4  # px


def moment(episode: dict[str, Any]) -> int:
    """Index of the observation to show: where the block was lifted, else the last one."""
    lifted = [t["action"] for t in episode["transitions"] if t["stage"] == "lifted"]
    # The observation after action k has index k + 1.
    return int(lifted[0]) + 1 if lifted else int(episode["steps"])


def frame(video: Path, index: int) -> Image.Image:
    """One frame of a video."""
    with av.open(str(video)) as container:
        for number, picture in enumerate(container.decode(video=0)):
            if number == index:
                return Image.fromarray(np.asarray(picture.to_ndarray(format="rgb24")))
    raise SystemExit(f"{video} has no frame {index}")


def main(run: Path, out: Path) -> None:
    """Draw the picture of a run folder."""
    first: dict[str, dict[str, Any]] = {}
    for episode in read_json(run / "result.json")["episodes"]:
        first.setdefault(episode["variant"], episode)
    width, height = TILE + GAP, TILE + CAPTION + GAP
    rows = -(-len(first) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * width - GAP, rows * height - GAP), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (variant, episode) in enumerate(first.items()):
        x, y = number % COLUMNS * width, number // COLUMNS * height
        video = run / "videos" / f"{episode['scenario_id']}_primary.mp4"
        tile = frame(video, moment(episode)).resize((TILE, TILE), Image.Resampling.LANCZOS)
        sheet.paste(tile, (x, y))
        middle = (x + TILE // 2, y + TILE + CAPTION // 2)
        draw.text(middle, variant.replace("_", " "), fill="black", anchor="mm", font_size=13)
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(f"usage: python {sys.argv[0]} RUN_FOLDER OUT.png")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
