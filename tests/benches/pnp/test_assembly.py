"""From the committed contract to an environment, and every binding that stops it."""

from __future__ import annotations

import copy
import json
import shutil

import pytest

from robogate.benches.pnp import create_environment
from robogate.contract.canonical import self_hash
from robogate.errors import RobogateError, RunError


@pytest.fixture(scope="module")
def options(gl):
    pytest.importorskip("hydra")
    from robogate.config.compose import compose

    point = compose(["bench=mujoco_pnp", "adapter=zero"])[0]
    return {
        "contract": point.frozen.document,
        "manifest": str(point.manifest_path),
        "assets": str(point.assets_dir),
        "gl": gl,
    }


def _refused(**options) -> RobogateError:
    with pytest.raises(RobogateError) as caught:
        create_environment(**options)
    return caught.value


def test_every_scenario_of_the_manifest_is_there(options):
    environment = create_environment(**options)
    listed = [s["id"] for s in json.loads(open(options["manifest"]).read())["scenarios"]]
    assert list(environment._scenarios) == listed and len(listed) == 68
    environment.close()


def test_one_byte_of_a_mesh(options, tmp_path):
    assets = tmp_path / "data"
    shutil.copytree(options["assets"], assets)
    mesh = assets / "panda" / "link3.stl"
    data = bytearray(mesh.read_bytes())
    data[500] ^= 1
    mesh.write_bytes(data)
    error = _refused(**{**options, "assets": str(assets)})
    assert isinstance(error, RunError) and error.code == "asset_changed"
    assert "panda/link3.stl" in error.message and "robogate assets" in error.message


def test_another_manifest(options, tmp_path):
    document = json.loads(open(options["manifest"]).read())
    document["scenarios"].pop()
    document["sha256"] = self_hash(document)
    other = tmp_path / "manifest.json"
    other.write_text(json.dumps(document))
    error = _refused(**{**options, "manifest": str(other)})
    assert isinstance(error, RunError) and error.code == "manifest_changed"


def test_a_contract_that_resolves_to_other_scenes(options):
    contract = copy.deepcopy(options["contract"])
    contract["bench"]["scene"]["block"]["mass"] = 0.11
    error = _refused(**{**options, "contract": contract})
    assert isinstance(error, RunError) and error.code == "manifest_changed"


def test_other_assets_than_the_contracts(options):
    contract = copy.deepcopy(options["contract"])
    contract["bench"]["assets"]["sha256"] = "0" * 64
    error = _refused(**{**options, "contract": contract})
    assert isinstance(error, RunError) and error.code == "asset_changed"


def test_unknown_backend(options):
    assert _refused(**{**options, "gl": "glfw"}).exit_code == 2
