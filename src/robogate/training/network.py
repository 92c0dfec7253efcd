"""The network: two small pictures and proprioception in, the next actions out.

Each picture goes through three convolutions into 32 maps; a soft argmax turns each map into one
place in the picture (Finn et al., Deep Spatial Autoencoders, ICRA 2016), and its mean says how much
of it there is. The middle layer also says how far it is to the next change of the gripper, which is
learned from hindsight.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from robogate.adapters.bc_features import STATE_SIZE

#: Names of the inputs and of the output, in order.
INPUTS = ("primary", "wrist", "state")
OUTPUT = "actions"
ACTION_SIZE = 7
#: A turn shorter than this, in units of the action, is no turn: an exactly zero rotation keeps the
#: hand's last orientation goal, while a small one lets it sag.
STILL_TURN = 0.06
_MAPS = 32
_HIDDEN = 256


class Eye(nn.Module):  # type: ignore[misc]
    """Places of things in one picture."""

    def __init__(self, size: int) -> None:
        """Make it for square pictures of a side in pixels."""
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 48, 4, 4),
            nn.ReLU(),
            nn.Conv2d(48, _MAPS, 3, 1, 1),
            nn.ReLU(),
            nn.Conv2d(_MAPS, _MAPS, 3, 1, 1),
        )
        side = torch.linspace(-1.0, 1.0, size // 4)
        grid = torch.meshgrid(side, side, indexing="ij")
        self.register_buffer("places", torch.stack(grid, -1).reshape(-1, 2))

    def forward(self, picture: Any) -> Any:
        """(B, size, size, 3) float, 0 to 1 → (B, 96)."""
        maps = self.layers(picture.permute(0, 3, 1, 2) - 0.5)
        maps = maps.flatten(2)
        places = torch.softmax(maps, -1) @ self.places
        return torch.cat([places.flatten(1), torch.relu(maps).mean(2)], 1)


class Network(nn.Module):  # type: ignore[misc]
    """Pictures and state → the next actions, and the way to the next change of the gripper."""

    def __init__(self, size: int, chunk: int) -> None:
        """Make it for pictures of a side in pixels and a number of actions ahead."""
        super().__init__()
        self.chunk = chunk
        self.primary, self.wrist = Eye(size), Eye(size)
        features = 2 * 3 * _MAPS + STATE_SIZE
        self.middle = nn.Sequential(nn.Linear(features, _HIDDEN), nn.ReLU())
        self.way = nn.Linear(_HIDDEN, 3)
        self.act = nn.Sequential(
            nn.Linear(features + _HIDDEN + 3, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, chunk * ACTION_SIZE),
        )

    def forward(self, primary: Any, wrist: Any, state: Any) -> tuple[Any, Any]:
        """Pictures 0 to 1 and normalised state → raw (B, chunk, 7) and way (B, 3), in 0.1 m."""
        seen = torch.cat([self.primary(primary), self.wrist(wrist), state], 1)
        middle = self.middle(seen)
        way = self.way(middle)
        raw = self.act(torch.cat([seen, middle, way], 1))
        return raw.reshape(-1, self.chunk, ACTION_SIZE), way


class Acting(nn.Module):  # type: ignore[misc]
    """What is exported: the same network, ending in the environment's own commands."""

    def __init__(self, network: Network) -> None:
        """Wrap a trained network."""
        super().__init__()
        self.network = network

    def forward(self, primary: Any, wrist: Any, state: Any) -> Any:
        """uint8 pictures (B, size, size, 3), state (B, 16) → actions (B, chunk, 7) in [-1, 1]."""
        raw, _ = self.network(primary.float() / 255.0, wrist.float() / 255.0, state)
        motion = raw[..., :6].clamp(-1.0, 1.0)
        shift, turn = motion[..., :3], motion[..., 3:]
        length = (turn * turn).sum(-1, keepdim=True)
        turn = torch.where(length < STILL_TURN**2, torch.zeros_like(turn), turn)
        grip = torch.where(raw[..., 6:] < 0.0, -torch.ones_like(raw[..., 6:]), 1.0)
        # Reshaped so that the exported network states its output's shape.
        return torch.cat([shift, turn, grip], -1).reshape(-1, self.network.chunk, ACTION_SIZE)
