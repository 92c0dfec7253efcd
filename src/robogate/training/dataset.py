"""Demonstrations as a LeRobotDataset v3, written and read through LeRobot's own interface.

It runs in LeRobot's environment (`make lerobot-env`). Pictures are stored as PNG inside parquet,
not as video: what is trained on is what was seen, to the last bit. Rows keep the bench's order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robogate.adapters.bc_features import CAMERAS, STATE_SIZE
from robogate.contract.canonical import read_json
from robogate.contract.files import write_json
from robogate.contract.strict import encode
from robogate.errors import EvidenceError, UsageError
from robogate.training.demos import Demo, load
from robogate.training.index import INDEX, DemoIndex, read_index

REPO_ID = "robogate/pnp_oracle"
#: Named because LeRobot else tries, and complains about, another one; there is no video in it.
DECODER = "pyav"
STATE, ACTION = "observation.state", "action"
#: The index of the demonstrations travels with the data set, in its own folder.
EXTRA = Path("meta") / f"robogate_{INDEX}"
_STATE_NAMES = (
    *(f"joint_{i}" for i in range(1, 8)),
    *("finger_1", "finger_2", "ee_x", "ee_y", "ee_z", "ee_qw", "ee_qx", "ee_qy", "ee_qz"),
)


def image_key(camera: str) -> str:
    """Name of a camera's feature."""
    return f"observation.images.{camera}"


def write(
    demos: Path, out: Path, action_names: Sequence[str], seconds: float | None = None
) -> DemoIndex | None:
    """Export a folder of demonstrations, then read it back and compare.

    Args:
        demos: What ``robogate train demos`` wrote.
        out: Folder to fill; what it has of this export already is kept.
        action_names: Component of each action.
        seconds: To stop after, so that a long export can be made in pieces, of one at least; None:
            never.

    Returns:
        The index; None where the time was up before.

    Raises:
        UsageError: LeRobot is not installed here, or ``out`` holds something else.
        EvidenceError: A demonstration is not the one of the index, or comes back as another.
    """
    begin = time.monotonic()
    index = read_index(demos / INDEX)
    kept = [row for row in index.demos if row.actions > 0]
    dataset = _open(out, index, action_names)
    for row in kept[dataset.num_episodes :]:
        demo = load(demos / f"{row.id}.npz")
        if demo.sha256() != row.sha256:
            raise EvidenceError(f"{demos / row.id}.npz: is not the one of {INDEX}", code="demos")
        for i in range(len(demo.action)):
            frame: dict[str, Any] = {image_key(c): demo.images[c][i] for c in CAMERAS}
            frame[STATE] = demo.state[i].astype(np.float32)
            frame[ACTION] = demo.action[i].astype(np.float32)
            frame["task"] = index.instruction
            dataset.add_frame(frame)
        dataset.save_episode()
        if seconds is not None and time.monotonic() - begin > seconds:
            break
    complete = dataset.num_episodes == len(kept)
    dataset.finalize()
    if not complete:
        return None
    back, _ = read(out)
    for row, demo in zip(kept, back):
        if not _same(demo, load(demos / f"{row.id}.npz")):
            raise EvidenceError(f"{out}: {row.id} does not come back as written", code="demos")
    return index


def read(root: Path) -> tuple[list[Demo], DemoIndex]:
    """Read a data set back.

    Returns:
        Its demonstrations, with states and actions of single precision, and their index.

    Raises:
        UsageError: LeRobot is not installed here, or there is no such data set.
        EvidenceError: It holds another number of frames than its index says.
    """
    if not (root / EXTRA).is_file():
        raise UsageError(f"{root}: is no data set of 'robogate train dataset'", code="dataset")
    index = read_index(root / EXTRA)
    found = _lerobot()(REPO_ID, root=root, video_backend=DECODER)
    table = found.hf_dataset.with_format(None)
    lengths = [row.actions for row in index.demos if row.actions > 0]
    if len(table) != sum(lengths):
        raise EvidenceError(
            f"{root}: has {len(table)} frames, its index says {sum(lengths)}", code="dataset"
        )
    state = np.array(table[STATE], dtype=np.float64).reshape(-1, STATE_SIZE)
    action = np.array(table[ACTION], dtype=np.float64)
    images = {c: np.stack([np.asarray(p) for p in table[image_key(c)]]) for c in CAMERAS}
    demos, begin = [], 0
    for length in lengths:
        part = slice(begin, begin + length)
        demos.append(Demo({c: images[c][part] for c in CAMERAS}, state[part], action[part]))
        begin += length
    return demos, index


def codebase_version(root: Path) -> str:
    """Version of the data set's format, such as ``v3.0``."""
    return str(read_json(root / "meta" / "info.json")["codebase_version"])


def _open(out: Path, index: DemoIndex, action_names: Sequence[str]) -> Any:
    """A data set to append to: a new one, or the one that was begun with the same index."""
    if out.exists():
        if not (out / EXTRA).is_file() or read_index(out / EXTRA) != index:
            raise UsageError(
                f"{out}: holds something else than a part of this export; name a new folder",
                code="dataset",
            )
        return _lerobot().resume(REPO_ID, root=out, video_backend=DECODER)
    picture = {
        "dtype": "image",
        "shape": (index.image_size, index.image_size, 3),
        "names": ["height", "width", "channels"],
    }
    features: dict[str, Any] = {image_key(c): dict(picture) for c in CAMERAS}
    features[STATE] = {"dtype": "float32", "shape": (STATE_SIZE,), "names": list(_STATE_NAMES)}
    names = list(action_names)
    features[ACTION] = {"dtype": "float32", "shape": (len(names),), "names": names}
    dataset = _lerobot().create(
        REPO_ID,
        round(index.control_hz),
        features,
        root=out,
        robot_type="panda",
        use_videos=False,
        video_backend=DECODER,
    )
    write_json(out / EXTRA, encode(index))
    return dataset


def _lerobot() -> Any:
    try:
        from datasets import disable_progress_bars
        from lerobot.datasets.lerobot_dataset import LeRobotDataset
    except ImportError as exc:
        raise UsageError(
            f"LeRobot is not installed in this Python ({exc}); 'make lerobot-env' makes one that "
            "has it",
            code="dataset",
        ) from exc
    disable_progress_bars()
    return LeRobotDataset


def _same(read_back: Demo, written: Demo) -> bool:
    single = (written.state.astype(np.float32), written.action.astype(np.float32))
    return (
        all(np.array_equal(read_back.images[c], written.images[c]) for c in CAMERAS)
        and np.array_equal(read_back.state, single[0])
        and np.array_equal(read_back.action, single[1])
    )
