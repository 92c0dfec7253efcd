"""What passes between an environment, the runner and a policy.

An environment reports an `Observation`; its `evaluator` half is for the harness alone. The runner
verifies the whole, then hands a policy the `PolicyObservation` and nothing else: no seed, no label,
no success flag, no object pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Evaluator:
    """The half of an observation that only the harness sees.

    Attributes:
        scenario_id: Scenario that the environment was reset to.
        seed: Its seed.
        applied_scene: Sealed readback document, schema 1.1.0, from the simulator's own state.
        success: Whether the environment's success state machine is complete.
        facts: Task facts after the last physics step, (k,) float64; the bench's `FACTS` name them.
        diagnostics: Flat JSON values for people; no decision depends on them.
    """

    scenario_id: str
    seed: int
    applied_scene: Mapping[str, Any]
    success: bool
    facts: FloatArray
    diagnostics: Mapping[str, Any]


@dataclass(frozen=True)
class Observation:
    """One observation, taken after the last physics step of its own action.

    Its arrays are its own: an environment makes new ones for every observation, because whoever
    records it may still read them when the next one is made.

    Attributes:
        protocol_version: Of the bench's observation and action protocol.
        episode_id: Names the episode; new at every reset.
        step: Actions executed so far; 0 right after a reset.
        instruction: The sentence for the policy.
        state: Name to float64 array: joint positions (rad), finger positions (m), poses (m, WXYZ).
        images: Camera name to (height, width, 3) uint8, rows ordered as the contract declares.
        registration_sha256: Echo of the registration bound before the reset.
        done: Whether the episode takes no more actions.
        evaluator: The harness's half; None where a policy-side client asked.
    """

    protocol_version: str
    episode_id: str
    step: int
    instruction: str
    state: Mapping[str, FloatArray]
    images: Mapping[str, Image]
    registration_sha256: str
    done: bool
    evaluator: Evaluator | None


@dataclass(frozen=True)
class PolicyObservation:
    """What a policy may see.

    Attributes:
        step: Actions executed so far.
        instruction: The sentence.
        state: As in `Observation`.
        images: As in `Observation`.
    """

    step: int
    instruction: str
    state: Mapping[str, FloatArray]
    images: Mapping[str, Image]


def project(observation: Observation) -> PolicyObservation:
    """Drop everything that a policy may not see."""
    return PolicyObservation(
        step=observation.step,
        instruction=observation.instruction,
        state=observation.state,
        images=observation.images,
    )
