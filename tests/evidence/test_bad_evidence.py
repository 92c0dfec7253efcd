"""Every kind of bad evidence is refused, by the message that is meant for it."""

from __future__ import annotations

import re

import pytest
from bad.kinds import KINDS, RESEAL

from robogate.evidence.verify_bundle import verify_bundle


def found(folder, key):
    return [str(fault) for fault in verify_bundle(folder, key=key).faults]


def test_the_library_is_large():
    assert len(KINDS) >= 30
    assert len({kind.message for kind in KINDS}) > 0.9 * len(KINDS)


def test_what_the_forger_leaves_alone_holds(forger, material):
    # Else every kind would be refused for the forger's own clumsiness.
    forger.seal()
    report = verify_bundle(forger.folder, key=material.public)
    assert report.faults == ()
    assert report.about["signature"] == "valid"


def test_what_was_measured_may_be_changed_by_the_holder_of_the_key_alone(forger, material):
    forger.edit_result(lambda d: d["episodes"][0]["timing"].update(step_s=0.001))
    forger.seal()
    assert found(forger.folder, material.public) == []
    forger.key = material.stranger
    forger.seal()
    assert len(found(forger.folder, material.public)) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "_"))
def test_bad_evidence_is_refused(kind, forger, material):
    kind.spoil(forger, material)
    if kind.then == RESEAL:
        forger.seal()
    faults = found(forger.folder, material.public)
    assert any(re.search(kind.message, fault) for fault in faults), "\n".join(faults[:20])
