"""The committed contracts are what the configuration composes now."""

from __future__ import annotations

import pytest

pytest.importorskip("hydra", reason="conf/ is composed by Hydra")

from robogate.benches.defaults import contracts_dir, origin_of
from robogate.config.compose import compose
from robogate.contract.canonical import read_json
from robogate.scenes.dual_arm_config import TASKS


@pytest.mark.parametrize("track", [f"{task}{size}" for task in TASKS for size in ("", "_quick")])
def test_committed_contracts_are_current(track: str) -> None:
    committed = read_json(contracts_dir() / f"{track}.json")
    kind = committed["contract"]["adapter"]["kind"]
    (point,) = compose(["bench=mujoco_dual_arm", f"track={track}", f"adapter={kind}"])
    command = f"robogate contract bench=mujoco_dual_arm track={track} adapter={kind}"
    assert committed["contract"] == point.frozen.document, f"print it anew: {command}"
    assert committed["contract_sha256"] == point.frozen.sha256
    assert origin_of(track, None, None, "egl").manifest.samefile(point.manifest_path)
