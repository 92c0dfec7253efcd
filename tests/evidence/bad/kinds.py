"""One fault of each kind, and the one message that it must produce.

Unless a kind is about hashes or signatures, the forger holds the rightful key: every hash is made
to fit and the bundle is validly signed again. What refuses it then is what a verifier computes.
"""

from __future__ import annotations

import base64
import copy
import dataclasses
import io
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bad.forger import Forger, put, read, write
from bad.material import MP4, NAMES, SOURCE, Material, policy_spec, write_controls
from robogate.scenes.readback import seal
from robogate.scenes.recipe import Row

RESEAL, KEEP = "reseal", "keep"


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: Of the kind.
        spoil: Makes it in the forger's copy of a valid bundle.
        message: Pattern of the one fault that names it.
        then: ``reseal`` where the forger makes everything fit afterwards, else ``keep``.
    """

    name: str
    spoil: Callable[[Forger, Material], None]
    message: str
    then: str


KINDS: list[Kind] = []


def kind(name: str, message: str, then: str = RESEAL) -> Callable[[Any], Any]:
    def register(spoil: Callable[[Forger, Material], None]) -> Any:
        assert name not in {known.name for known in KINDS}
        KINDS.append(Kind(name, spoil, message, then))
        return spoil

    return register


# ---- episodes


def of_result(name: str, message: str, edit: Callable[[Any], Any]) -> None:
    kind(name, message)(lambda f, m: f.edit_result(edit))


def to(path: str, value: Any) -> Callable[[Any], None]:
    *parents, last = (int(k) if k.isdigit() else k for k in path.split("."))

    def edit(document: Any) -> None:
        for key in parents:
            document = document[key]
        assert (type(document[last]), document[last]) != (type(value), value)
        document[last] = value

    return edit


def swap(document: Any) -> None:
    episodes = document["episodes"]
    episodes[1], episodes[2] = episodes[2], episodes[1]


def duplicate(document: Any) -> None:
    document["episodes"][1] = copy.deepcopy(document["episodes"][0])


def extra(document: Any) -> None:
    document["episodes"].append(copy.deepcopy(document["episodes"][0]))
    document["episodes"][-1]["scenario_id"] = "99_extra_00"


def one_ulp(document: Any) -> None:
    episode = document["episodes"][0]
    applied = copy.deepcopy(episode["applied_scene"])
    mass = np.float32(applied["object"]["mass"])
    applied["object"]["mass"] = float(np.nextafter(mass, np.float32(1)))
    sealed = seal({k: v for k, v in applied.items() if k not in ("schema", "sha256")})
    episode.update(applied_scene=sealed, applied_scene_sha256=sealed["sha256"])


def win(document: Any) -> None:
    document["summary"].update(successes=4, success_rate=1.0)


of_result("episodes reordered", r"result/\$\.episodes\[2\]\.scenario_id: is out of the manif", swap)
of_result(
    "episode duplicated", r"episodes\[1\]\.scenario_id: is that of \$\.episodes\[0\]", duplicate
)
of_result("episode missing", r"lacks 1 of 4 declared scenarios", lambda d: d["episodes"].pop(2))
of_result("episode extra", r"episodes\[4\]\.scenario_id: is '99_extra_00', not a declared", extra)
of_result("outcome edited", r"episodes\[3\]\.outcome: is 'success', expected 'failure' \(trace\)",
          to("episodes.3.outcome", "success"))  # fmt: skip
of_result("seed edited", r"episodes\[0\]\.seed: is 12345, expected 11 \(manifest\)",
          to("episodes.0.seed", 12345))  # fmt: skip
of_result("label edited", r"episodes\[0\]\.variant: is 'camera', expected",
          to("episodes.0.variant", "camera"))  # fmt: skip
of_result("transition edited", r"episodes\[0\]\.transitions: is \[\{'action': 99",
          to("episodes.0.transitions.0.action", 99))  # fmt: skip
of_result("summary edited", r"result/\$\.summary\.successes: is 4, expected 1", win)
of_result("scene edited", r"episodes\[0\]\.scene\.object\.mass: is 0\.2, expected 0\.1",
          to("episodes.0.scene.object.mass", 0.2))  # fmt: skip
of_result(
    "readback off by one float32 ulp", r"episodes\[0\]\.applied_scene\.object\.mass: is", one_ulp
)
of_result("integer for float", r"timing\.reset_s: is integer 1, expected number with a fraction",
          to("episodes.0.timing.reset_s", 1))  # fmt: skip
of_result("float for integer", r"episodes\[0\]\.steps: is number [\d.]+, expected integer",
          lambda d: d["episodes"][0].update(steps=float(d["episodes"][0]["steps"])))  # fmt: skip
of_result("field unknown", r"episodes\[0\]\.reward: unknown field",
          lambda d: d["episodes"][0].update(reward=1.0))  # fmt: skip
of_result("field missing", r"result/\$\.scope: missing field", lambda d: d.pop("scope"))
of_result("prompt of another task", r"attestation\.prompt: is 'pick up the blue block'",
          to("episodes.0.attestation.prompt", "pick up the blue block"))  # fmt: skip
of_result("registration of another", r"attestation\.registration_sha256: is 'aaaa",
          to("episodes.0.attestation.registration_sha256", "a" * 64))  # fmt: skip
of_result("chain edited", r"episodes\[0\]\.attestation\.chain: is 'bbbb",
          to("episodes.0.attestation.chain", "b" * 64))  # fmt: skip
of_result("traversal in a trace's name", r"trace_file: is '../../../etc/passwd', expected 'traces/",
          to("episodes.0.attestation.trace_file", "../../../etc/passwd"))  # fmt: skip
of_result("scope edited", r"result/\$\.scope: is 'safe', expected", to("scope", "safe"))
of_result("status edited", r"result/\$\.status: is 'partial', expected 'complete' \(episodes\)",
          to("status", "partial"))  # fmt: skip
of_result("contract edited", r"contract\.budget\.max_actions: is 999, expected 110 \(contract",
          to("contract.budget.max_actions", 999))  # fmt: skip
of_result("identity edited", r"harness\.harness_sha256: is 'dddd.*identity\.json",
          to("identity.harness.harness_sha256", "d" * 64))  # fmt: skip


@kind(
    "error turned into a failure", r"episodes\[1\]\.ending: is 'step_limit', the trace allows none"
)
def _(f: Forger, m: Material) -> None:
    endings = ("success", "error", "policy_stop", "step_limit")
    f.replace_run(policy_spec(f.builder.Spec, endings=endings, qualification_id=m.qualification_id))

    def forge(document: Any) -> None:
        document["episodes"][1].update(
            outcome="failure", ending="step_limit", failure_stage="reached", error=None
        )
        document["status"] = "complete"

    f.edit_result(forge)


@kind("action chain cut", r"episodes\[3\]\.steps: is 110, expected 109 \(trace\)")
def _(f: Forger, m: Material) -> None:
    f.edit_trace(3, lambda trace: trace[:-1].copy())


@kind("action edited, chain kept", r"result/\$\.episodes\[0\]\.attestation\.chain: is")
def _(f: Forger, m: Material) -> None:
    chain = read(f.folder / "result" / "result.json")["episodes"][0]["attestation"]["chain"]

    def edit(trace: Any) -> Any:
        trace["action"][0, 0] = 0.25
        return trace

    f.edit_trace(0, edit)
    f.edit_result(to("episodes.0.attestation.chain", chain))


@kind("readback of one observation", r"npy\[2\]\.readback: is 07")
def _(f: Forger, m: Material) -> None:
    def edit(trace: Any) -> Any:
        trace["readback"][2, 0] = 7
        return trace

    f.edit_trace(0, edit)


@kind("executed action that its call did not infer", r"npy\[0\]\.action: is \[0\.25, .*call 1 in")
def _(f: Forger, m: Material) -> None:
    def edit(trace: Any, calls: Any) -> Any:
        trace["action"][0, 0] = 0.25
        return trace, calls

    f.edit_trace_file(0, edit, "result")


def chunk_by_an_ulp(calls: Any) -> Any:
    calls["chunk"][3, 0, 2] = np.nextafter(calls["chunk"][3, 0, 2], 9.0)
    return calls


@kind("chunk edited by one ulp", r"npy\[3\]\.action: is \[.*\], call 4 inferred \[")
def _(f: Forger, m: Material) -> None:
    f.edit_calls(0, chunk_by_an_ulp)


@kind("chunk edited, chain kept", r"result/\$\.episodes\[0\]\.attestation\.calls_chain: is")
def _(f: Forger, m: Material) -> None:
    chain = read(f.folder / "result" / "result.json")["episodes"][0]["attestation"]["calls_chain"]
    f.edit_calls(0, chunk_by_an_ulp)
    f.edit_result(to("episodes.0.attestation.calls_chain", chain))


@kind("inference call removed", r"npy\[15\]\.inference: is 16, and there are 15 calls")
def _(f: Forger, m: Material) -> None:
    f.edit_calls(0, lambda calls: np.delete(calls, 5))


@kind("inference call added", r"npy\.calls: are 17, the rows name 16")
def _(f: Forger, m: Material) -> None:
    f.edit_calls(0, lambda calls: np.concatenate([calls, calls[-1:]]))


@kind("chain of calls cut", r"npy\[10\]\.inference: is 11, and there are 10 calls")
def _(f: Forger, m: Material) -> None:
    f.edit_calls(0, lambda calls: calls[:10].copy())


@kind("calls of another episode", r"npy\[0\]\.action: is .*, call 1 inferred")
def _(f: Forger, m: Material) -> None:
    other: list[Any] = []

    def take(calls: Any) -> Any:
        other.append(calls.copy())
        return calls

    f.edit_calls(3, take)
    f.edit_calls(0, lambda calls: other[0][: len(calls)])


@kind("another prompt than the contract's", r"npy\.calls\[2\]\.prompt: is not the digest of the")
def _(f: Forger, m: Material) -> None:
    def edit(calls: Any) -> Any:
        calls["prompt"][2, 0] ^= 1
        return calls

    f.edit_calls(0, edit)


@kind(
    "inference times made shorter",
    r"timing\.inference_s: is 0\.001, expected [\d.]+ \(inference_us",
)
def _(f: Forger, m: Material) -> None:
    f.edit_result(to("episodes.0.timing.inference_s", 0.001))


@kind("archive in place of a trace", r"trace_file: .*not a plain numpy file")
def _(f: Forger, m: Material) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, np.zeros(10))
    put(trace_of(f), buffer.getvalue())


@kind("pickle in place of a trace", r"trace_file: .*not a plain numpy file")
def _(f: Forger, m: Material) -> None:
    put(trace_of(f), pickle.dumps({"images": 1}))


@kind("trace of objects", r"trace_file: .*rows are not of the contract's type")
def _(f: Forger, m: Material) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    put(trace_of(f), buffer.getvalue())


@kind("trace whose header promises terabytes", r"its header says 1000000000 rows")
def _(f: Forger, m: Material) -> None:
    path = trace_of(f)
    head, _, body = path.read_bytes().partition(b"\n")
    huge = re.sub(rb"'shape': \(\d+,\)", b"'shape': (1000000000,)", head)
    put(path, huge.rstrip().ljust(len(head)) + b"\n" + body)


def trace_of(f: Forger, run: str = "result") -> Any:
    return min((f.folder / run / "traces").iterdir())


# ---- text


def of_text(name: str, message: str, change: Callable[[str], str]) -> None:
    def spoil(f: Forger, m: Material) -> None:
        path = f.folder / "result" / "result.json"
        put(path, change(path.read_text()).encode())
        files_only(f)

    kind(name, message, KEEP)(spoil)


def files_only(f: Forger) -> None:
    """Make bundle.json and the statement fit a file that no longer is JSON."""
    path = f.folder / "result" / "result.json"
    bad = path.read_bytes()
    good = read(f.folder / "bundle.json")
    put(path, b'{"episodes": []}')
    f.seal()
    put(path, bad)
    listed = {file["path"]: file for file in read(f.folder / "bundle.json")["files"]}
    listed["result/result.json"] = {
        "path": "result/result.json", "bytes": len(bad), "sha256": sha256(bad)
    }  # fmt: skip
    del good["files"]
    from robogate.contract.canonical import self_hash
    from robogate.evidence.bundle import bundle_bytes

    document = {**good, "files": [listed[path] for path in sorted(listed)]}
    document["sha256"] = self_hash(document)
    put(f.folder / "bundle.json", bundle_bytes(document))


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


of_text("NaN text", r"result: .*result\.json: NaN is not JSON",
        lambda t: t.replace('"reset_s": 0.1', '"reset_s": NaN', 1))  # fmt: skip
of_text("infinity text", r"result: .*result\.json: number 1e999 overflows",
        lambda t: t.replace('"reset_s": 0.1', '"reset_s": 1e999', 1))  # fmt: skip
of_text("duplicate JSON key", r"result: .*result\.json: duplicate key 'status'",
        lambda t: t.replace('"status":', '"status": "error", "status":', 1))  # fmt: skip
of_text("integer beyond 2^53", r"result: .*integer 90071992547409930 exceeds",
        lambda t: t.replace('"index": 0', '"index": 90071992547409930', 1))  # fmt: skip
of_text("deeply nested JSON", r"result: .*nested deeper than 64 levels",
        lambda t: "[" * 100_000 + "]" * 100_000)  # fmt: skip
of_text("JSON of another shape", r"result/\$: is array, expected object", lambda t: "[]")


@kind("huge JSON", r"result: .*result\.json: larger than 67108864 bytes", KEEP)
def _(f: Forger, m: Material) -> None:
    path = f.folder / "result" / "result.json"
    path.chmod(0o644)
    os.truncate(path, 65 * 1024 * 1024)


@kind("file of a terabyte", r"scope\.txt: holds 1099511627776 bytes, no file needs more", KEEP)
def _(f: Forger, m: Material) -> None:
    (f.folder / "scope.txt").chmod(0o644)
    os.truncate(f.folder / "scope.txt", 1 << 40)


# ---- qualification


def of_controls(name: str, message: str, **changes: Any) -> None:
    """A qualification of four valid controls, of which some are others; the rest is made to fit."""

    def spoil(f: Forger, m: Material) -> None:
        for control in NAMES:
            shutil.rmtree(f.folder / "qualification" / control)
        write_controls(f.builder, f.folder / "qualification", **changes)
        f.requalify()

    kind(name, message)(spoil)


def condition(name: str) -> str:
    return rf"qualification/\$\.checks\[\d+\]: {name}"


of_controls("three oracle runs of which one differs", condition("oracle runs: one semantics"),
            oracle_3={"noise": 1})  # fmt: skip
of_controls("control of another budget", condition("one budget: differs in contract.budget"),
            zero={"max_actions": 111})  # fmt: skip
of_controls("control of another image", condition("one image: differs in identity"),
            oracle_2={"distribution": "4.0.1"})  # fmt: skip
of_controls("control that passes by doing nothing", condition("zero: passes none: 1 of 4"),
            zero={"endings": ("success", "step_limit", "step_limit", "step_limit")})  # fmt: skip
of_controls("oracle that fails once", condition("oracle_1: passes all: 3 of 4"),
            oracle_1={"endings": ("success",) * 3 + ("step_limit",)})  # fmt: skip
of_controls("qualification of another harness",
            r"result/\$\.identity\.harness\.harness_sha256: differs from the qualification's: it is"
            " stale", each={"harness_sha256": "2b" * 32})  # fmt: skip
of_controls("qualification of another image",
            r"result/\$\.identity\.worker\.environment\.sha256: differs from the qualification's",
            each={"distribution": "4.0.1"})  # fmt: skip
of_controls("qualification of another budget",
            r"result/\$\.contract\.budget: differs from the qualification's",
            each={"max_actions": 120})  # fmt: skip


@kind("control of another camera", condition("one camera: differs in contract.renderer"))
def _(f: Forger, m: Material) -> None:
    base = f.builder.Spec()
    renderer = dataclasses.replace(base.renderer, width=128, height=128)
    spec = f.builder.Spec(run=4, renderer=renderer)
    f.replace_run(spec, "qualification/oracle_3")
    f.requalify()


@kind("oracle run used twice", condition("distinct run ids: oracle_1 and oracle_3 share run-2"))
def _(f: Forger, m: Material) -> None:
    f.copy_run(f.folder / "qualification" / "oracle_1", "qualification/oracle_3")
    f.requalify()


@kind(
    "oracle run used twice under another run id", condition("distinct timings: oracle_1 and orac")
)
def _(f: Forger, m: Material) -> None:
    f.copy_run(f.folder / "qualification" / "oracle_1", "qualification/oracle_3")
    f.edit_result(to("run_id", "run-9"), "qualification/oracle_3")
    f.requalify()


@kind("controls swapped", r"qualification/\$\.controls\[1\]\.run_id: is 'run-2', expected 'run-3'")
def _(f: Forger, m: Material) -> None:
    folder = f.folder / "qualification"
    (folder / "oracle_1").rename(f.folder / "x")
    (folder / "oracle_2").rename(folder / "oracle_1")
    (f.folder / "x").rename(folder / "oracle_2")


@kind("control edited", r"qualification/oracle_2/\$\.episodes\[1\]\.seed: is 99, expected 12")
def _(f: Forger, m: Material) -> None:
    f.edit_result(to("episodes.1.seed", 99), "qualification/oracle_2")
    f.requalify()


@kind("failed qualification called passed", r"qualification/\$\.status: is 'passed', expected 'fai")
def _(f: Forger, m: Material) -> None:
    f.replace_run(f.builder.Spec(run=4, noise=1), "qualification/oracle_3")
    f.requalify()
    f.edit("qualification/qualification.json", lambda d: d.update(status="passed"))


@kind(
    "qualification that the run does not name", r"result/\$\.qualification_id: is 0000.*, that of"
)
def _(f: Forger, m: Material) -> None:
    f.edit_result(to("qualification_id", "0" * 64))


@kind("no qualification named", r"result/\$\.qualification_id: is null: the run names none")
def _(f: Forger, m: Material) -> None:
    f.edit_result(to("qualification_id", None))


@kind("result that is one of the controls", r"result/\$\.run_id: is that of the control 'oracle_2'")
def _(f: Forger, m: Material) -> None:
    f.copy_run(m.qualification / "oracle_2", "result")
    f.edit_result(to("qualification_id", m.qualification_id))
    as_control(f)


def as_control(f: Forger) -> None:
    f.edit("bundle.json", lambda d: d.update(role="control"))


@kind("wrong manifest of the right length", r"result/manifest\.json:\$\.sha256: is .*\(contract\)")
def _(f: Forger, m: Material) -> None:
    rows = [row if i != 2 else Row(row.domain, row.variant, 99)
            for i, row in enumerate(f.builder.rows)]  # fmt: skip
    from robogate.contract.strict import encode

    write(f.folder / "result" / "manifest.json", encode(f.builder.manifest_of(rows)))


# ---- what may be promoted


def of_policy(name: str, message: str, **changes: Any) -> None:
    def spoil(f: Forger, m: Material) -> None:
        spec = policy_spec(f.builder.Spec, qualification_id=m.qualification_id, **changes)
        f.replace_run(spec)

    kind(name, message)(spoil)


of_policy("model without a checkpoint",
          r"result/\$\.contract\.adapter\.checkpoint_sha256: is null: undeclared",
          model="pi", revision="1")  # fmt: skip
of_policy("policy of unknown source", r"result/\$\.identity\.policy: is null", source=None)
of_policy("policy that is no checkout and no distribution",
          r"result/\$\.identity\.policy\.source: is 'files': package 'my_policy' is neither",
          source=dataclasses.replace(SOURCE, source="files", git_revision=None))  # fmt: skip
of_policy("oracle as a policy", r"result/\$\.contract\.adapter\.role: is 'policy', expected 'contr",
          adapter="oracle", role="policy", endings=("success",) * 4)  # fmt: skip
of_policy("named subset", r"result/\$\.status: is 'partial', expected 'complete': a named subset",
          subset="first_of_each_variant", endings=("success",) * 3)  # fmt: skip
of_policy("episode that erred", r"result/\$\.status: is 'error', expected 'complete'",
          endings=("success", "error", "success", "success"))  # fmt: skip
of_policy("development bench", r"result/\$\.status: is 'development', expected 'complete'",
          scoring="development")  # fmt: skip


# ---- the bundle


def of_bundle(name: str, message: str, edit: Callable[[Any], Any]) -> None:
    kind(name, message, KEEP)(lambda f, m: f.seal(edit))


of_bundle("path traversal in a listed name", r"bundle\.json:\$\.files\[0\]\.path: is '\.\./secret'",
          lambda d: d["files"][0].update(path="../secret"))  # fmt: skip
of_bundle("absolute path in a listed name", r"bundle\.json:\$\.files\[0\]\.path: is '/etc/passwd'",
          lambda d: d["files"][0].update(path="/etc/passwd"))  # fmt: skip
of_bundle("backslashes in a listed name", r"bundle\.json:\$\.files\[0\]\.path: is 'a",
          lambda d: d["files"][0].update(path="a\\b"))  # fmt: skip
of_bundle("file listed twice", r"bundle\.json:\$\.files\[\d+\]\.path: is listed twice: media/",
          lambda d: d["files"].append(d["files"][0]))  # fmt: skip
of_bundle("listed file that is not there", r"result/traces/nothing\.npy: is missing",
          lambda d: d["files"].append(
              {"path": "result/traces/nothing.npy", "bytes": 1, "sha256": "0" * 64}))  # fmt: skip
of_bundle("control called a policy's", r"bundle\.json:\$\.role: is 'control', expected 'policy'",
          lambda d: d.update(role="control"))  # fmt: skip
of_bundle("declared identity hidden or invented", r"bundle\.json:\$\.declared",
          lambda d: d.update(declared=["identity.policy"]))  # fmt: skip
of_bundle("unknown field in bundle.json", r"bundle\.json:\$\.note: unknown field",
          lambda d: d.update(note="x"))  # fmt: skip
of_bundle("bundle.json of another version", r"bundle\.json:\$\.schema: is 'robogate.bundle/9'",
          lambda d: d.update(schema="robogate.bundle/9"))  # fmt: skip


@kind("extra file", r"result/steps\.parquet: is not listed in bundle\.json", KEEP)
def _(f: Forger, m: Material) -> None:
    put(f.folder / "result" / "steps.parquet", b"PAR1")


@kind("extra file, listed", r"result/steps\.parquet: is no part of the evidence")
def _(f: Forger, m: Material) -> None:
    put(f.folder / "result" / "steps.parquet", b"PAR1")


@kind("hidden file", r"'result/\.hidden': is not a name that a bundle holds", KEEP)
def _(f: Forger, m: Material) -> None:
    put(f.folder / "result" / ".hidden", b"x")


@kind("file missing", r"scope\.txt: is missing, bundle\.json lists it", KEEP)
def _(f: Forger, m: Material) -> None:
    (f.folder / "scope.txt").unlink()


@kind("file edited", r"scope\.txt: holds \d+ bytes with SHA-256", KEEP)
def _(f: Forger, m: Material) -> None:
    put(f.folder / "scope.txt", b"This policy is safe.\n")


@kind("scope text edited", r"scope\.txt: is not the scope text of the result")
def _(f: Forger, m: Material) -> None:
    put(f.folder / "scope.txt", b"This policy is safe.\n")


@kind("symbolic link to a file", r"result/traces/00_\w+\.npy: is a symbolic link", KEEP)
def _(f: Forger, m: Material) -> None:
    path = trace_of(f)
    path.unlink()
    path.symlink_to(min((m.bundle / "result" / "traces").iterdir()))


@kind("symbolic link to a folder", r"qualification: is a symbolic link", KEEP)
def _(f: Forger, m: Material) -> None:
    shutil.rmtree(f.folder / "qualification")
    (f.folder / "qualification").symlink_to(m.bundle / "qualification")


@kind("pipe in place of a file", r"result/identity\.json: is neither a file nor a folder", KEEP)
def _(f: Forger, m: Material) -> None:
    (f.folder / "result" / "identity.json").unlink()
    os.mkfifo(f.folder / "result" / "identity.json")


@kind("file swapped between two valid bundles", r"result/result\.json: holds \d+ bytes", KEEP)
def _(f: Forger, m: Material) -> None:
    put(f.folder / "result/result.json", (m.other / "result/result.json").read_bytes())


@kind("trace swapped between two valid bundles", r"episodes\[0\]\.attestation\.trace_sha256: is")
def _(f: Forger, m: Material) -> None:
    put(trace_of(f), min((m.other / "result" / "traces").iterdir()).read_bytes())


@kind("folder named after other content", r"folder name: is .*, expected", KEEP)
def _(f: Forger, m: Material) -> None:
    named = f.folder.with_name(m.other.name)
    f.folder.rename(named)
    f.folder = named


@kind("bundle.json in another form", r"bundle\.json: is not written in the one form", KEEP)
def _(f: Forger, m: Material) -> None:
    document = read(f.folder / "bundle.json")
    put(f.folder / "bundle.json", json.dumps(document, indent=4).encode())
    f.sign(f._statement(document, read(f.folder / "result" / "result.json")))


# ---- media


@kind("video of no episode", r"media/another\.mp4: is not named after a scenario and a camera")
def _(f: Forger, m: Material) -> None:
    put(f.folder / "media" / "another.mp4", MP4)


@kind("page in place of a video", r"media/00_\w+\.mp4: is not an MP4 file")
def _(f: Forger, m: Material) -> None:
    put(min((f.folder / "media").iterdir()), b"<script>alert(1)</script>")


# ---- the statement


def envelope(edit: Callable[[Any], Any]) -> Callable[[Forger, Material], None]:
    return lambda f, m: f.edit("statement.dsse.json", edit)


def edit_payload(edit: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Change the payload and leave the signature as it is."""

    def change(document: Any) -> None:
        payload = json.loads(base64.b64decode(document["payload"]))
        edit(payload)
        from robogate.contract.canonical import canonical_bytes

        document["payload"] = base64.b64encode(canonical_bytes(payload)).decode()

    return change


kind("no signature", r"statement\.dsse\.json: no signature: it was signed with key \w+, and", KEEP)(
    envelope(lambda d: d.update(signatures=[]))
)
kind("empty signature", r"statement\.dsse\.json: empty signature", KEEP)(
    envelope(lambda d: d["signatures"][0].update(sig=""))
)
kind("signature that is noise", r"wrong signature: it is not this key's over this statement", KEEP)(
    envelope(lambda d: d["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode()))
)
kind("signature that is no base64", r"wrong signature", KEEP)(
    envelope(lambda d: d["signatures"][0].update(sig="%%%"))
)
kind("two signatures", r"2 signatures, expected one", KEEP)(
    envelope(lambda d: d["signatures"].append(d["signatures"][0]))
)
kind("payload of another type", r"payloadType is 'text/plain', expected", KEEP)(
    envelope(lambda d: d.update(payloadType="text/plain"))
)
kind("payload that is no base64", r"payload is not base64", KEEP)(
    envelope(lambda d: d.update(payload="%%%"))
)
kind("statement edited, signature kept", r"wrong signature: it is not this key's", KEEP)(
    envelope(edit_payload(lambda d: d["predicate"].update(result="PASSED")))
)


@kind(
    "statement of another result, signed", r"statement\.dsse\.json:\$\.predicate\.result: is 'PASS"
)
def _(f: Forger, m: Material) -> None:
    f.seal(statement=lambda d: d["predicate"].update(result="PASSED"))
    f.seal = lambda *_: None  # type: ignore[method-assign]


@kind(
    "statement of another bundle",
    r"statement\.dsse\.json:\$\.predicate\.robogate\.bundle_sha256",
    KEEP,
)
def _(f: Forger, m: Material) -> None:
    put(f.folder / "statement.dsse.json", (m.other / "statement.dsse.json").read_bytes())


@kind("subject that leaves a file out", r"statement\.dsse\.json:\$\.subject", KEEP)
def _(f: Forger, m: Material) -> None:
    f.seal(statement=lambda d: d["subject"].pop())


@kind("no statement", r"statement\.dsse\.json: .*is missing", KEEP)
def _(f: Forger, m: Material) -> None:
    (f.folder / "statement.dsse.json").unlink()


@kind("unsigned", r"no signature: it is unsigned; --allow-unsigned accepts it as such", KEEP)
def _(f: Forger, m: Material) -> None:
    f.key = None
    f.seal()


@kind(
    "signed by somebody else", r"wrong key: it was signed with key \w{16}, the key given is", KEEP
)
def _(f: Forger, m: Material) -> None:
    f.key = m.stranger
    f.seal()


@kind("re-hashed after editing what was measured", r"wrong key: it was signed with key", KEEP)
def _(f: Forger, m: Material) -> None:
    f.key = m.stranger
    f.edit_result(to("episodes.0.timing.step_s", 0.001))
    f.seal()


@kind("stranger under the signer's name", r"wrong signature: it is not this key's", KEEP)
def _(f: Forger, m: Material) -> None:
    signer = read(f.folder / "bundle.json")["signed_by"]
    f.key = m.stranger
    f.edit_result(to("episodes.0.timing.step_s", 0.001))
    f.seal(lambda d: d.update(signed_by=signer))
    f.edit("statement.dsse.json", lambda d: d["signatures"][0].update(keyid=signer))
