from __future__ import annotations

from pathlib import Path

import pytest

from robogate.config.compose import compose
from robogate.contract.files import write_json
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.report import Report
from robogate.runs import qualified


@pytest.fixture
def qualification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A qualification that holds, of the standard budget."""
    (control,) = compose(["adapter=zero"])
    (tmp_path / "zero").mkdir()
    write_json(tmp_path / "zero" / "contract.json", control.frozen.document)
    about = {"harness_contract_sha256": control.frozen.harness_sha256}
    report = Report("qualification", str(tmp_path), (), about)
    monkeypatch.setattr(qualified, "verify_qualification", lambda folder: report)
    return tmp_path


def test_a_qualification_serves_every_adapter(qualification: Path) -> None:
    (point,) = compose(["adapter=oracle", "runtime.workers=2"])
    qualified.require_qualified(qualification, point)


def test_what_another_harness_contract_differs_in_is_named(qualification: Path) -> None:
    (point,) = compose(["adapter=oracle", "budget=smoke"])
    with pytest.raises(UsageError) as caught:
        qualified.require_qualified(qualification, point)
    assert caught.value.exit_code == 2
    assert caught.value.message == (
        f"runtime.qualification={qualification}: it qualifies another harness contract, which "
        "differs in budget.name, budget.subset; leave these as they were qualified, or qualify "
        "the bench with them"
    )


def test_a_qualification_that_does_not_hold_binds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(folder: Path) -> Report:
        raise EvidenceError("$.status: is 'failed'", code="evidence")

    monkeypatch.setattr(qualified, "verify_qualification", verify)
    (point,) = compose(["adapter=oracle"])
    with pytest.raises(UsageError, match=r"runtime\.qualification=.*: \$\.status: is 'failed'"):
        qualified.require_qualified(tmp_path, point)
