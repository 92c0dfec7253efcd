"""Any single value in any document of a bundle is changed, every hash is made to fit, and the
bundle is validly signed again. What is derived or bound is refused all the same; what was measured
passes under the rightful key, and under no other."""

from __future__ import annotations

import copy
import re
import shutil

import pytest
from bad.forger import Forger, read, write
from bad.leaves import HASHES, kinds, measured, others, replaced
from bad.material import MP4

from robogate.contract.canonical import self_hash, sha256_json
from robogate.errors import EvidenceError
from robogate.evidence.verify_bundle import verify_bundle

#: The quick tests take one in many leaves, the slow ones all.
#: (Of a result, every leaf is changed in test_every_leaf.py, without a bundle around it.)
EVERY = pytest.mark.parametrize("every", [61, pytest.param(7, marks=pytest.mark.slow)])
FEW = pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.slow)])


class Bench:
    """One copy of the bundle that is spoilt and restored, because copying takes longest."""

    def __init__(self, material, builder, folder):
        self.material = material
        self.forger = Forger(shutil.copytree(material.bundle, folder), builder, material.key)
        self.kept = {}

    def spoil(self, name, value):
        """Write a document, to be restored."""
        self.keep(name)
        write(self.forger.folder / name, value)

    def keep(self, *names):
        for name in names:
            self.kept.setdefault(name, (self.forger.folder / name).read_bytes())

    def faults(self, key=None):
        report = verify_bundle(self.forger.folder, key=key or self.material.public)
        return [str(fault) for fault in report.faults]

    def sealed(self, key=None, **edits):
        """Faults after everything was made to fit and signed."""
        self.keep("bundle.json", "statement.dsse.json")
        self.forger.key = key or self.material.key
        self.forger.seal(**edits)
        return self.faults()

    def restore(self):
        for name, data in self.kept.items():
            (self.forger.folder / name).unlink()
            (self.forger.folder / name).write_bytes(data)
        self.kept.clear()

    def leaves(self, document, every, skip=None):
        for path, value in list(kinds(document).items())[every // 2 :: every]:
            if skip is None or not re.fullmatch(skip, path):
                yield path, value, others(path, value)[0]


@pytest.fixture
def bench(material, builder, tmp_path):
    return Bench(material, builder, tmp_path / "bundle")


def check(bench, path, faults, signature_alone):
    """A measured value is let through by hashes, and stopped by the signature."""
    if faults:
        return
    assert signature_alone, f"{path} is neither derived nor bound"
    faults = bench.sealed(bench.material.stranger)
    assert len(faults) == 1 and "wrong key" in faults[0]
    report = verify_bundle(bench.forger.folder, allow_unsigned=True)
    assert report.holds and report.about["signature"] == "not checked"


@EVERY
@pytest.mark.parametrize("run", ["result", "qualification/oracle_2"])
def test_a_result(bench, builder, every, run):
    name = f"{run}/result.json"
    document, tried, passed = read(bench.forger.folder / name), 0, 0
    for path, _, other in bench.leaves(document, every, HASHES):
        forged = builder.rehash(replaced(document, path, other))
        bench.spoil(name, forged)
        bench.keep("qualification/qualification.json", "result/result.json")
        if run != "result":
            bench.forger.requalify()
        faults = bench.sealed()
        check(bench, path, faults, measured(path))
        tried, passed = tried + 1, passed + (not faults)
        bench.restore()
    assert tried >= 5 and passed < tried
    assert bench.faults() == []


@FEW
@pytest.mark.parametrize("name", ["contract", "identity", "manifest"])
def test_a_document_beside_the_result(bench, every, name):
    name = f"result/{name}.json"
    document = read(bench.forger.folder / name)
    for path, value, other in bench.leaves(document, every):
        forged = replaced(document, path, other)
        if "manifest" in name:
            forged["sha256"] = self_hash(forged) if path != "$.sha256" else other
        bench.spoil(name, forged)
        assert bench.sealed(), f"{name} {path}: {value!r} -> {other!r}"
        bench.restore()


@FEW
def test_the_qualification(bench, every):
    name = "qualification/qualification.json"
    document = read(bench.forger.folder / name)
    for path, value, other in bench.leaves(document, every):
        forged = replaced(document, path, other)
        fit_qualification(forged, path)
        bench.spoil(name, forged)
        bench.keep("result/result.json")
        bench.forger.edit_result(
            lambda r, f=forged: r.update(qualification_id=str(f.get("qualification_id")))
        )
        assert bench.sealed(), f"{path}: {value!r} -> {other!r}"
        bench.restore()


def replacing(forged):
    """An edit that leaves nothing of what was there."""

    def edit(document):
        document.clear()
        document.update(copy.deepcopy(forged))

    return edit


def fit_qualification(document, path):
    hashes = ("qualification_id", "sha256")
    if path not in ("$.qualification_id", "$.sha256"):
        try:
            document["qualification_id"] = sha256_json(
                {k: v for k, v in document.items() if k not in hashes}
            )
            document["sha256"] = self_hash(document)
        except EvidenceError:
            pass  # a value that no document can hold: the forger leaves it


@FEW
def test_the_bundle_document(bench, every):
    document = read(bench.forger.folder / "bundle.json")
    for path, value, other in bench.leaves(document, every if every == 1 else 3, r"\$\.sha256"):
        edit = replacing(replaced(document, path, other))
        assert bench.sealed(edit=edit), f"{path}: {value!r} -> {other!r}"
        bench.restore()


@FEW
def test_the_statement(bench, every):
    document = bench.forger.payload()
    for path, value, other in bench.leaves(document, every if every == 1 else 5):
        edit = replacing(replaced(document, path, other))
        assert bench.sealed(statement=edit), f"{path}: {value!r} -> {other!r}"
        bench.restore()


def test_every_byte_of_text_and_video(bench):
    (bench.forger.folder / "scope.txt").chmod(0o644)
    bench.keep("scope.txt")
    (bench.forger.folder / "scope.txt").write_text("Assisted pick-and-place\n")
    assert len(bench.sealed()) == 1
    bench.restore()
    name = min(p.name for p in (bench.forger.folder / "media").iterdir())
    bench.keep(f"media/{name}")
    video = bench.forger.folder / "media" / name
    video.unlink()
    video.write_bytes(MP4 + b"another")
    check(bench, name, bench.sealed(), True)
