"""Videos, step tables, and that recording can fail without harming anything."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.contract.schema import ActionSpace, Assets, Bench, Timing
from robogate.records.facts import PNP_FACTS
from robogate.records.observation import Evaluator, Observation
from robogate.records.result import Episode
from robogate.runs import recording
from robogate.runs.recording import Recorder
from robogate.runs.video import EpisodeVideo
from robogate.scenes.manifest import Scenario
from waiting import PATIENCE_S

av = pytest.importorskip("av")
pq = pytest.importorskip("pyarrow.parquet")

RED, BLUE, GREY = (220, 30, 30), (30, 30, 220), (120, 120, 120)
NAMES = ("x", "y", "z", "rx", "ry", "rz", "gripper")


def bench(row_order: str = "bottom_first") -> Bench:
    return Bench(
        kind="mujoco_pnp",
        harness_id="h",
        harness_version="1",
        environment="m:f",
        simulator="mujoco",
        simulator_version="4",
        determinism="bitwise",
        protocol_version="2.0.0",
        scoring="qualified",
        instruction="pick",
        scope="scope",
        image_row_order=row_order,
        shield="ik",
        inference_timeout_s=1.0,
        timing=Timing(20.0, 3, 1 / 60, 1, 0, "paused"),
        action=ActionSpace(NAMES, (-1.0,) * 7, (1.0,) * 7, "osc_pose_delta"),
        assets=Assets("i.json", "0" * 64),
    )


def scenario(index: int = 0) -> Scenario:
    return Scenario(index, f"{index:02d}_baseline_00", "nominal", "baseline", 7, {}, "0" * 64)


def card(width: int = 256, height: int = 256) -> np.ndarray[Any, Any]:
    """What a person should see: red along the top, blue in the lower left corner."""
    image = np.full((height, width, 3), GREY, np.uint8)
    image[: height // 4] = RED
    image[3 * height // 4 :, : width // 4] = BLUE
    return image


def observation(step: int, images: dict[str, Any], success: bool = False) -> Observation:
    return Observation(
        protocol_version="2.0.0",
        episode_id="e",
        step=step,
        instruction="pick",
        state={"joint_position": np.arange(7.0) + step, "finger_position": np.full(2, 0.04)},
        images=images,
        registration_sha256="0" * 64,
        done=False,
        evaluator=Evaluator("s", 7, {}, success, np.arange(12.0) * step, {}),
    )


def episode(scenario_id: str) -> Episode:
    values: dict[str, Any] = {f.name: None for f in dataclasses.fields(Episode)}
    return Episode(**(values | {"scenario_id": scenario_id}))


def record(
    folder: Path, steps: int, images: Callable[[int], dict[str, Any]], **order: str
) -> list[str]:
    warnings: list[str] = []
    recorder = Recorder(folder, bench(**order), PNP_FACTS, warnings.append)
    recorder.started(scenario())
    for step in range(steps + 1):
        action = None if step == 0 else np.full(7, step / 100)
        recorder.observed(scenario(), observation(step, images(step), step == steps), action)
    recorder.finished(episode(scenario().id))
    recorder.close()
    return warnings


def frames(path: Path) -> list[np.ndarray[Any, Any]]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def near(pixel: Any, colour: tuple[int, int, int]) -> bool:
    return bool(np.abs(pixel.astype(int) - colour).max() < 25)


@pytest.mark.parametrize("order", ["bottom_first", "top_first"])
def test_a_person_sees_the_picture_upright(tmp_path: Path, order: str) -> None:
    upright = card()
    protocol = upright[::-1] if order == "bottom_first" else upright
    assert record(tmp_path, 3, lambda _: {"primary": protocol}, row_order=order) == []
    seen = frames(tmp_path / "videos" / "00_baseline_00_primary.mp4")
    assert len(seen) == 4
    for frame in seen:
        assert near(frame[20, 20], RED) and near(frame[20, 236], RED)
        assert near(frame[236, 20], BLUE), "the lower left corner is mirrored or upside down"
        assert near(frame[236, 236], GREY)


def test_plays_at_the_control_rate_in_a_common_format(tmp_path: Path) -> None:
    record(tmp_path, 39, lambda _: {"primary": card(), "wrist": card()})
    names = sorted(path.name for path in (tmp_path / "videos").iterdir())
    assert names == ["00_baseline_00_primary.mp4", "00_baseline_00_wrist.mp4"]
    with av.open(str(tmp_path / "videos" / names[1])) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 20 and stream.frames == 40
        assert float(stream.duration * stream.time_base) == pytest.approx(2.0)


def test_equal_frames_give_equal_files(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (5, 64, 64, 3), dtype=np.uint8)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        record(tmp_path / name, 4, lambda step: {"primary": noise[step]})
    file = "videos/00_baseline_00_primary.mp4"
    assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize(("width", "height"), [(321, 240), (64, 33), (17, 19)])
def test_odd_sizes_are_extended_not_refused(tmp_path: Path, width: int, height: int) -> None:
    picture = card(width, height)[::-1]
    assert record(tmp_path, 2, lambda _: {"primary": picture}) == []
    frame = frames(tmp_path / "videos" / "00_baseline_00_primary.mp4")[-1]
    assert frame.shape[:2] == (height + height % 2, width + width % 2)
    assert near(frame[1, -1], RED) and near(frame[-1, 1], BLUE) and near(frame[-1, -1], GREY)


def test_the_step_table_says_what_led_to_what(tmp_path: Path) -> None:
    record(tmp_path, 5, lambda _: {"primary": card()})
    table = pq.read_table(tmp_path / "steps" / "00_baseline_00.parquet")
    rows = table.to_pylist()
    assert len(rows) == 6
    assert rows[0]["action"] is None
    assert rows[3] == {
        "index": 0,
        "scenario_id": "00_baseline_00",
        "domain": "nominal",
        "variant": "baseline",
        "seed": 7,
        "step": 3,
        "time_s": 0.15,
        "action": [0.03] * 7,
        "state.joint_position": [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        "state.finger_position": [0.04, 0.04],
        "facts": [3.0 * k for k in range(12)],
        "success": False,
    }
    assert rows[5]["success"] is True
    assert table.schema.field("action").metadata[b"names"].startswith(b'["x", "y"')
    assert b"held" in table.schema.field("facts").metadata[b"names"]


def test_episodes_may_overlap(tmp_path: Path) -> None:
    warnings: list[str] = []
    recorder = Recorder(tmp_path, bench(), PNP_FACTS, warnings.append)
    shades = {index: np.full((32, 32, 3), 60 * index + 40, np.uint8) for index in range(3)}

    def run(index: int) -> None:
        recorder.started(scenario(index))
        for step in range(20):
            seen = observation(step, {"primary": shades[index]})
            recorder.observed(scenario(index), seen, None if step == 0 else np.zeros(7))
        recorder.finished(episode(scenario(index).id))

    threads = [threading.Thread(target=run, args=(index,)) for index in shades]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    assert warnings == []
    for index in shades:
        seen = frames(tmp_path / "videos" / f"{scenario(index).id}_primary.mp4")
        assert len(seen) == 20
        assert all(near(frame[16, 16], (60 * index + 40,) * 3) for frame in seen)


def test_a_file_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    video = EpisodeVideo(tmp_path / "a.mp4", frames_per_second=20.0, row_order="top_first")
    for _ in range(60):
        video.add(card())
    assert not (tmp_path / "a.mp4").exists()
    assert [path.name for path in tmp_path.iterdir()] == [".a.mp4.partial"]
    video.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]
    assert len(frames(tmp_path / "a.mp4")) == 60


def test_what_a_killed_run_left_unfinished_is_removed(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    stale = tmp_path / "videos" / ".07_x_00_primary.mp4.partial"
    stale.write_bytes(b"half")
    kept = tmp_path / "videos" / "06_x_00_primary.mp4"
    kept.write_bytes(b"whole")
    record(tmp_path, 1, lambda _: {"primary": card()})
    assert not stale.exists() and kept.read_bytes() == b"whole"


def test_an_episode_cut_short_keeps_what_was_seen(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, bench(), PNP_FACTS, pytest.fail)
    recorder.started(scenario())
    for step in range(3):
        recorder.observed(scenario(), observation(step, {"primary": card()}), None)
    recorder.close()
    recorder.close()
    assert len(frames(tmp_path / "videos" / "00_baseline_00_primary.mp4")) == 3


FULL_DISK = """
import resource, signal, sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
import numpy as np
import test_recording as t
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
warnings = []
recorder = t.Recorder(folder, t.bench(), t.PNP_FACTS, warnings.append)
noise = np.random.default_rng(0)
resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))
for index in range(3):
    recorder.started(t.scenario(index))
    for step in range(30):
        image = noise.integers(0, 255, (128, 128, 3), dtype=np.uint8)
        if index == 1:
            image[:] = 90
        recorder.observed(t.scenario(index), t.observation(step, {"primary": image}), None)
    recorder.finished(t.episode(t.scenario(index).id))
recorder.close()
print(*warnings, sep="\\n")
"""


def test_a_disk_that_takes_no_more_is_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), *map(str, Path(__file__).parents[:2])],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == (
        f"recording of 00_baseline_00 failed (File too large); the run goes on: "
        f"check the disk of {tmp_path}, or set runtime.media=off"
    )
    assert last == "2 episodes are not recorded in full: 00_baseline_00, 02_baseline_00"
    # The one that fitted is there and whole; nothing of the others is.
    assert [p.name for p in (tmp_path / "videos").iterdir()] == ["01_baseline_00_primary.mp4"]
    assert len(frames(tmp_path / "videos" / "01_baseline_00_primary.mp4")) == 30


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    warnings = record(tmp_path, 2, lambda _: {"primary": card()})
    tmp_path.chmod(0o700)
    assert "Permission denied" in warnings[0]


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "videos").write_text("in the way")
    warnings = record(tmp_path, 2, lambda _: {"primary": card()})
    assert warnings[0].startswith("recording of folder failed (File exists); the run goes on: ")


def test_a_disk_that_hangs_does_not_hang_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    ended: list[bool] = []
    monkeypatch.setattr(
        EpisodeVideo, "add", lambda self, image: ended.append(release.wait(PATIENCE_S))
    )
    warnings: list[str] = []
    recorder = Recorder(tmp_path, bench(), PNP_FACTS, warnings.append, stall_s=0.2)
    recorder.started(scenario())
    for step in range(3 * recording.QUEUE_OBSERVATIONS):
        recorder.observed(scenario(), observation(step, {"primary": card()}), None)
    recorder.finished(episode(scenario().id))
    recorder.close(timeout_s=0.2)
    assert ended == []  # nobody waited for it
    release.set()
    recorder._thread.join()
    assert len(warnings) == 1
    assert warnings[0].startswith("recording made no progress for 0.2 s and was given up; the run")


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def test_memory_does_not_grow_with_the_number_of_episodes(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, bench(), PNP_FACTS, pytest.fail)
    grown = []
    for index in range(40):
        recorder.started(scenario(index))
        for step in range(50):
            # A fresh image each time, as an environment gives: 0.1 MB, so 5 MB an episode.
            images = {"primary": card(192, 192)}
            recorder.observed(scenario(index), observation(step, images), None)
        recorder.finished(episode(scenario(index).id))
        grown.append(resident_mb())
    recorder.close()
    assert grown[-1] - grown[15] < 15.0, grown


def test_a_changed_frame_size_is_told_and_only_that_episode_lost(tmp_path: Path) -> None:
    warnings = record(tmp_path, 2, lambda step: {"primary": card(64 + 2 * step, 64)})
    assert "frame 1 is (64, 66, 3), the first was (64, 64, 3)" in warnings[0]
    assert list((tmp_path / "videos").iterdir()) == []
