"""The statement that a signature covers: in-toto Statement v1 with a test-result v0.1 predicate.

The subject is every file of the bundle. The tests are the scenarios: ``passedTests`` are those that
ended in success, ``failedTests`` all others, and ``result`` is ``PASSED`` only where every scenario
did, as that type has it; it is no threshold of ours. What a reader of robogate needs stands in the
extension field ``robogate``. All of it follows from the files, so a verifier builds it anew and
compares bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robogate.contract.canonical import canonical_bytes
from robogate.evidence.bundle import QUALIFICATION_FOLDER, RESULT_FOLDER, BundleFile
from robogate.evidence.files import CONTRACT, IDENTITY, MANIFEST
from robogate.evidence.qualification import DOCUMENT

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
PROMOTION_TYPE = "robogate.promotion/1"

#: Files that say what was run; the predicate's ``configuration``.
_CONFIGURATION = (
    f"{RESULT_FOLDER}/{CONTRACT}",
    f"{RESULT_FOLDER}/{MANIFEST}",
    f"{RESULT_FOLDER}/{IDENTITY}",
    f"{QUALIFICATION_FOLDER}/{DOCUMENT}",
)

#: What no verifier can compute again: for this, there is the signature.
MEASURED = (
    "run id and times of the run",
    "identity: source revision, package, environment and hardware",
    "traces: robot state, task facts and image digests of every observation",
    "episodes: timing, diagnostics and error texts",
    "the same of the four control runs",
    "media",
)

_COUNTS = ("scenarios", "scored", "errored", "not_started", "successes", "success_rate", "interval")


def assemble_statement(
    bundle: dict[str, Any], bundle_file: BundleFile, result: dict[str, Any]
) -> dict[str, Any]:
    """The statement of a bundle.

    Args:
        bundle: The document bundle.json.
        bundle_file: That file itself.
        result: The bundle's validated result.
    """
    hashes = {file["path"]: file["sha256"] for file in bundle["files"]}
    outcomes = {e["scenario_id"]: e["outcome"] == "success" for e in result["episodes"]}
    harness = result["identity"]["harness"]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            _descriptor(path, sha256)
            for path, sha256 in sorted([*hashes.items(), (bundle_file.path, bundle_file.sha256)])
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": "PASSED" if all(outcomes.values()) else "FAILED",
            "configuration": [_descriptor(path, hashes[path]) for path in _present(hashes)],
            "passedTests": [name for name, passed in outcomes.items() if passed],
            "warnedTests": [],
            "failedTests": [name for name, passed in outcomes.items() if not passed],
            "robogate": {
                "type": PROMOTION_TYPE,
                "bundle_sha256": bundle["sha256"],
                **{
                    key: bundle[key]
                    for key in (
                        "signed_by", "role", "declared", "run_id", "result_sha256",
                        "contract_sha256", "harness_contract_sha256", "fingerprint_sha256",
                        "manifest_sha256", "qualification_id",
                    )
                },
                "harness": {
                    key: harness[key]
                    for key in ("id", "version", "source_revision", "dirty", "harness_sha256")
                },
                "started_at": result["started_at"],
                "ended_at": result["ended_at"],
                "status": result["status"],
                "summary": {key: result["summary"][key] for key in _COUNTS},
                "scope": result["scope"],
                "measured": list(MEASURED),
            },
        },
    }  # fmt: skip


def statement_bytes(statement: dict[str, Any]) -> bytes:
    """The payload that is signed: the statement's RFC 8785 text."""
    return canonical_bytes(statement)


def _descriptor(path: str, sha256: str) -> dict[str, Any]:
    return {"name": path, "digest": {"sha256": sha256}}


def _present(hashes: dict[str, str]) -> Iterable[str]:
    """A bundle that lacks one of them is refused elsewhere, with a better message."""
    return (path for path in _CONFIGURATION if path in hashes)
