"""Makes the small networks of `bc_networks/`: ``python tests/adapters/make_bc_networks.py``.

It needs the package onnx, which LeRobot's environment has. Each network's answer can be worked out
by hand: every action is [mean of the primary picture, mean of the wrist picture (both as a share of
255), state 0, state 6, state 9, 0.5, 1].
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).parent / "bc_networks"


def network(chunk: int = 8, size: int = 64, state: int = 16, names: str = "primary") -> bytes:
    constants = {
        "scale": np.array([1.0 / (255.0 * size * size * 3)], np.float32),
        "axes": np.array([1, 2, 3], np.int64),
        "columns": np.array([0, 6, 9], np.int64),
        "tail": np.array([[0.5, 1.0]], np.float32),
        "row": np.array([-1, 1, 7], np.int64),
        "repeat": np.array([1, chunk, 1], np.int64),
        "shape": np.array([-1, chunk, 7], np.int64),
    }
    nodes = []
    for camera in (names, "wrist"):
        nodes += [
            helper.make_node("Cast", [camera], [f"{camera}_f"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", [f"{camera}_f", "axes"], [f"{camera}_s"], keepdims=0),
            helper.make_node("Mul", [f"{camera}_s", "scale"], [f"{camera}_m"]),
            helper.make_node("Unsqueeze", [f"{camera}_m", "last"], [f"{camera}_c"]),
        ]
    constants["last"] = np.array([1], np.int64)
    nodes += [
        helper.make_node("Gather", ["state", "columns"], ["felt"], axis=1),
        helper.make_node("Shape", [f"{names}_c"], ["rows"]),
        helper.make_node("Expand", ["tail", "rows"], ["end"]),
        helper.make_node("Concat", [f"{names}_c", "wrist_c", "felt", "end"], ["action"], axis=1),
        helper.make_node("Reshape", ["action", "row"], ["alone"]),
        helper.make_node("Tile", ["alone", "repeat"], ["tiled"]),
        helper.make_node("Reshape", ["tiled", "shape"], ["actions"]),
    ]
    picture = ["batch", size, size, 3]
    graph = helper.make_graph(
        nodes,
        "hand_made",
        [
            helper.make_tensor_value_info(names, TensorProto.UINT8, picture),
            helper.make_tensor_value_info("wrist", TensorProto.UINT8, picture),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", state]),
        ],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["batch", chunk, 7])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, data in {
        "right": network(),
        "chunk_of_4": network(chunk=4),
        "pictures_of_32": network(size=32),
        "another_camera": network(names="front"),
    }.items():
        (FOLDER / f"{name}.onnx").write_bytes(data)
