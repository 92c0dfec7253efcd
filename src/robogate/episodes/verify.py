"""What the runner requires of every observation before anybody may see it (protocol section 4).

A difference from what was declared invalidates the run; a number that no state can have costs the
episode. Nothing is skipped: work is saved only where the very same bytes were verified before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from robogate.contract.exact import exact_bytes, is_plain
from robogate.contract.strict import Fault
from robogate.errors import EpisodeError, RunError
from robogate.records.benches import BenchRules
from robogate.records.contract import FrozenContract
from robogate.records.observation import Evaluator, Image, Observation
from robogate.scenes.manifest import Scenario
from robogate.scenes.readback import compare


class ObservationVerifier:
    """Verifies the observations of one episode, in order.

    Args:
        frozen: The contract.
        rules: Rules of its bench.
        scenario: Of the episode.
        scene: Its resolved scene.
        registration_sha256: That every observation must echo.
    """

    def __init__(
        self,
        frozen: FrozenContract,
        rules: BenchRules,
        scenario: Scenario,
        scene: Any,
        registration_sha256: str,
    ) -> None:
        self._bench = frozen.bench
        self._renderer = frozen.renderer
        self._rules = rules
        self._scenario = scenario
        self._registration = registration_sha256
        self._expectation = rules.expectation(frozen.bench, frozen.renderer, scene)
        self._episode_id: str | None = None
        self._expected: dict[str, Any] | None = None
        self._expected_text = ""
        self._verified: bytes | None = None

    def verify(self, observation: Observation, step: int) -> Evaluator:
        """Verify one observation.

        Args:
            observation: As received.
            step: Actions executed before it.

        Returns:
            Its evaluator half.

        Raises:
            RunError: Something differs from contract, manifest or registration.
            EpisodeError: ``bad_reply`` for the wrong episode or step, ``simulator_nan``.
        """
        half = observation.evaluator
        if half is None:
            raise RunError(
                "the observation has no evaluator half; the environment does not take this client "
                "for the harness",
                code="registration_mismatch",
            )
        self._require_identity(observation, half)
        self._require_order(observation, step)
        self._require_numbers(observation, half)
        self._require_images(observation.images)
        self._require_readback(half.applied_scene, step)
        return half

    def _require_identity(self, observation: Observation, half: Evaluator) -> None:
        expected = self._bench.protocol_version
        if observation.protocol_version != expected:
            raise RunError(
                f"observation of protocol {observation.protocol_version!r}, expected {expected!r}",
                code="protocol_version",
            )
        if observation.registration_sha256 != self._registration:
            echo = observation.registration_sha256 or "nothing"
            raise RunError(
                f"observation echoes registration {echo:.64}, expected {self._registration}",
                code="registration_mismatch",
            )
        actual = (half.scenario_id, half.seed)
        if actual != (self._scenario.id, self._scenario.seed):
            raise RunError(
                f"observation is of scenario {actual[0]!r} with seed {actual[1]}, expected "
                f"{self._scenario.id!r} with seed {self._scenario.seed}",
                code="wrong_scenario",
            )
        if observation.instruction != self._bench.instruction:
            raise RunError(
                f"instruction is {observation.instruction!r:.120}, the contract says "
                f"{self._bench.instruction!r}",
                code="contract_mismatch",
            )

    def _require_order(self, observation: Observation, step: int) -> None:
        if self._episode_id is None:
            self._episode_id = observation.episode_id
        if observation.episode_id != self._episode_id:
            raise EpisodeError(
                f"observation is of episode {observation.episode_id!r:.80}, expected "
                f"{self._episode_id!r:.80}",
                code="bad_reply",
            )
        if observation.step != step:
            raise EpisodeError(
                f"observation is of step {observation.step}, expected {step}", code="bad_reply"
            )

    def _require_numbers(self, observation: Observation, half: Evaluator) -> None:
        expected = {name: (size,) for name, size in self._rules.state.items()}
        actual = {name: value.shape for name, value in observation.state.items()}
        if actual != expected:
            raise RunError(f"state is {actual}, expected {expected}", code="contract_mismatch")
        if half.facts.shape != (len(self._rules.facts),):
            raise RunError(
                f"there are {half.facts.size} task facts, expected {len(self._rules.facts)}",
                code="contract_mismatch",
            )
        for name, value in (*observation.state.items(), ("facts", half.facts)):
            if value.dtype != np.float64:
                raise RunError(
                    f"{name} is {value.dtype}, expected float64", code="contract_mismatch"
                )
            if not np.isfinite(value).all():
                raise EpisodeError(
                    f"{name} of observation {observation.step} is {value.tolist()}, expected "
                    "finite numbers",
                    code="simulator_nan",
                )

    def _require_images(self, images: Mapping[str, Image]) -> None:
        shape = (self._renderer.height, self._renderer.width, 3)
        if set(images) != set(self._renderer.cameras):
            raise RunError(
                f"cameras are {sorted(images)}, expected {sorted(self._renderer.cameras)}",
                code="contract_mismatch",
            )
        for name, image in images.items():
            if image.shape != shape or image.dtype != np.uint8:
                raise RunError(
                    f"image '{name}' is {image.dtype} {image.shape}, expected uint8 {shape}",
                    code="contract_mismatch",
                )
            if is_blank(image):
                raise RunError(f"image '{name}' is blank", code="blank_image")
        for (first, a), (second, b) in combinations(sorted(images.items()), 2):
            if are_identical(a, b):
                raise RunError(
                    f"images '{first}' and '{second}' are identical", code="identical_images"
                )

    def _require_readback(self, document: Mapping[str, Any], step: int) -> None:
        expected = self._expectation.at(step)
        if expected is not self._expected:
            self._expected, self._expected_text = expected, _text(expected)
            self._verified = None
        exact = exact_bytes(document)
        if exact is not None and exact == self._verified:
            return
        # The expected document is sealed: equal text is an equal document with a valid self-hash.
        if _text(document) == self._expected_text:
            self._verified = exact if is_plain(document) else None
            return
        faults = compare(dict(document), expected) or [Fault("$", "has the sign of a zero changed")]
        fault = next((f for f in faults if f.path != "$.sha256"), faults[0])
        raise RunError(
            f"applied scene of scenario {self._scenario.id}, observation {step}: {fault}",
            code="readback_mismatch",
        )


def is_blank(image: Image) -> bool:
    """Whether every channel is constant, (h, w, 3)."""
    first = image[0, 0]
    # Almost every image is settled by its middle row.
    return bool((image[len(image) // 2] == first).all() and (image == first).all())


def are_identical(a: Image, b: Image) -> bool:
    """Whether two images of one shape are equal in every value."""
    middle = len(a) // 2
    return bool(np.array_equal(a[middle], b[middle]) and np.array_equal(a, b))


def _text(document: Mapping[str, Any]) -> str:
    """One text for each document: 1, 1.0 and true differ in it, the order of keys does not."""
    try:
        return json.dumps(document, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as exc:
        text = f"applied scene is not a JSON document: {exc}"
        raise RunError(text, code="readback_mismatch") from exc
