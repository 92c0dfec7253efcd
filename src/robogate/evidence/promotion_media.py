"""Videos that go with a bundle: of each domain the first success and the first failure. For people;
nothing that decides a score reads them, and nothing but hash and signature protects them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robogate.contract.files import read_bounded
from robogate.contract.strict import Fault
from robogate.errors import EvidenceError
from robogate.evidence.bundle import MEDIA_FOLDER

#: Folder of the videos in a run.
VIDEOS = "videos"

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_BYTES = 64 * 1024 * 1024


def choose_media(result: dict[str, Any], videos: Path) -> list[str]:
    """Names of the videos that a bundle takes along, every camera of each chosen episode.

    Args:
        result: The result document.
        videos: Folder of the run's videos; it need not exist.
    """
    chosen: list[str] = []
    total = 0
    taken: set[tuple[str, bool]] = set()
    for episode in result["episodes"]:
        place = episode["domain"], episode["outcome"] == "success"
        if place in taken:
            continue
        sizes = {name: size for name, size in _videos(result, episode, videos)}
        if sizes and total + sum(sizes.values()) <= MAX_BYTES:
            taken.add(place)
            total += sum(sizes.values())
            chosen.extend(sizes)
    return chosen


def _videos(result: dict[str, Any], episode: Any, folder: Path) -> Iterator[tuple[str, int]]:
    for camera in result["contract"]["renderer"]["cameras"]:
        name = _name(episode["scenario_id"], camera)
        path = folder / name
        if path.is_file() and not path.is_symlink():
            size = path.stat().st_size
            if size <= MAX_FILE_BYTES and _is_video(path):
                yield name, size


def _name(scenario_id: str, camera: str) -> str:
    return f"{scenario_id}_{camera}.mp4"


def _is_video(path: Path) -> bool:
    """Whether a file is of the MP4 family: a page that shows it must not meet anything else."""
    with path.open("rb") as stream:
        return stream.read(12)[4:8] == b"ftyp"


def media_faults(folder: Path, names: list[str], result: dict[str, Any]) -> list[Fault]:
    """What does not belong among a bundle's media.

    Args:
        folder: The media folder.
        names: What lies in it.
        result: The validated result.
    """
    cameras = result["contract"]["renderer"]["cameras"]
    episodes = {_name(e["scenario_id"], c): e for e in result["episodes"] for c in cameras}
    faults: list[Fault] = []
    taken: dict[tuple[str, bool], str] = {}
    total = 0
    for name in names:
        path = f"{MEDIA_FOLDER}/{name}"
        episode = episodes.get(name)
        if episode is None:
            faults.append(Fault(path, "is not named after a scenario and a camera of the run"))
            continue
        place = episode["domain"], episode["outcome"] == "success"
        if taken.setdefault(place, episode["scenario_id"]) != episode["scenario_id"]:
            message = f"is another {'success' if place[1] else 'failure'} of domain '{place[0]}'"
            faults.append(Fault(path, f"{message}, expected one at the most"))
        try:
            total += len(read_bounded(folder / name, MAX_FILE_BYTES))
            if not _is_video(folder / name):
                faults.append(Fault(path, "is not an MP4 file"))
        except EvidenceError as exc:
            faults.append(Fault(path, exc.message))
    if total > MAX_BYTES:
        faults.append(Fault(MEDIA_FOLDER, f"holds {total} bytes, expected at most {MAX_BYTES}"))
    return faults
