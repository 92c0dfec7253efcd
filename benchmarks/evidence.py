"""What evidence costs: measuring who runs, hashing a policy's package, promoting, verifying.

    .venv/bin/python benchmarks/evidence.py [--times 3]

The bundle is one of five runs of 68 scenarios, of which two use the whole budget. Its runs are made
up, as in the tests: nothing here looks at what an action was worth. The package that is hashed has
10,000 files, once in a plain folder and once in a git checkout.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from common import ROOT, Sample, machine, machine_line, note, publish, robogate, run, table

FILES = 10_000
DOCUMENT = "text = json.dumps([{'a': 'x\"[' * 20, 'b': [1.5] * 20}] * 20_000)\n"
#: What is measured in a process of its own that has done it once: preparation, and the call.
CALLS = {
    "process": ("from robogate.contract.identity import measure_process\n",
                "measure_process(distributions=('mujoco',))"),
    "assets": ("from robogate.contract.assets import load_inventory, verify_tree\n"
               "from robogate.contract.layout import data_dir, manifests_dir\n"
               "kept = [load_inventory(p) for p in manifests_dir().glob('assets_*.json')]\n",
               "[verify_tree(data_dir(), one) for one in kept]"),
    "strict": ("import json\nfrom robogate.contract.canonical import loads_strict\n" + DOCUMENT,
               "loads_strict(text)"),
    "plain": ("import json\n" + DOCUMENT, "json.loads(text)"),
}  # fmt: skip
#: The children's time is git's.
HASH = """
import os, sys
sys.path.insert(0, sys.argv[1])
import large.policy
from robogate.contract.identity import measure_policy
began = sum(os.times()[:4])
measured = measure_policy("python", "large.policy", "Policy")
print(sum(os.times()[:4]) - began)
assert measured.identity.package_files == int(sys.argv[2]), measured.identity.package_files
"""
POLICY = "class Policy:\n    def act(self, observation):\n        return [0.0] * 7\n"
TITLES = {
    "promote": ("`robogate promote` of a run, with its qualification", 10.0),
    "verify_bundle": ("`robogate verify` of the bundle", 5.0),
    "verify": ("`robogate verify` of a run that uses the whole budget", 2.0),
    "package": (f"hashing a package of {FILES:,} files", 3.0),
    "checkout": ("the same in a git checkout", 3.0),
    "process": ("measuring a process: machine and distributions", None),
    "assets": ("checking the pinned assets", None),
    "strict": ("reading 5 MB of JSON strictly", None),
    "plain": ("the same with `json.loads`", None),
    "mirror": ("starting the W&B mirror, in the run's own thread", None),
    "mirrored": ("telling it of an episode", None),
}


def module(name: str, path: str) -> ModuleType:
    """A module of the tests; two of them are called conftest."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def make_runs(folder: Path) -> None:
    """Four control runs, qualified, and a policy's run that is bound to them."""
    builder = module("synthetic_runs", "evidence/conftest.py").Builder()
    material = module("synthetic_material", "evidence/bad/material.py")
    from robogate.evidence.keys import create_keys
    from robogate.scenes.recipe import version_1_rows

    each = {"manifest": builder.manifest_of(tuple(version_1_rows())), "max_actions": 300}
    win, nothing = {"endings": ("success",) * 68}, {"endings": ("step_limit",) * 68}
    oracles = {name: win for name in ("oracle_1", "oracle_2", "oracle_3")}
    material.write_controls(builder, folder / "q", each=each, zero=nothing, **oracles)
    bound = {"qualification_id": material.qualify_folder(folder / "q"), **each, **nothing}
    builder.write(folder / "run", material.policy_spec(builder.Spec, **bound))
    create_keys(folder / "keys")


def make_package(folder: Path) -> None:
    """A package of many files, whose module ``large.policy`` holds a policy."""
    for part in range(100):
        (folder / "large" / f"part_{part}").mkdir(parents=True)
        for number in range(FILES // 100):
            file = folder / "large" / f"part_{part}" / f"module_{number}.py"
            file.write_text("x = 1\n" * 400)
    (folder / "large" / "__init__.py").write_text("")
    (folder / "large" / "policy.py").write_text(POLICY)


def commit(folder: Path) -> None:
    """Make a git checkout of a folder."""
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True)


def printed(program: str, *arguments: str) -> float:
    """The number that a program prints last."""
    return float(run([sys.executable, "-c", program, *arguments]).output.split()[-1])


def mirror(folder: Path) -> tuple[float, float]:
    """CPU time in the run's own thread: of starting the mirror, and of one episode."""
    synthetic = module("synthetic_reports", "reports/conftest.py").Synthetic()
    from robogate.contract.files import write_json
    from robogate.reports.wandb_mirror import WandbMirror

    scenarios = synthetic.scenarios({"nominal": 1})
    folder.mkdir()
    plan = synthetic.plan(folder, scenarios)
    write_json(folder / "contract.json", dict(plan.contract))
    made = WandbMirror("offline", note)
    began = time.thread_time()
    made.run_started(plan)
    started = time.thread_time()
    episode = synthetic.episode(scenarios[0])
    for _ in range(1000):
        made.episode_finished(episode)
    told = time.thread_time()
    made.close()
    return started - began, (told - started) / 1000


def once(folder: Path, packages: dict[str, Path], number: int) -> dict[str, float]:
    """CPU time of everything, s."""
    board, keys = folder / f"board_{number}", folder / "keys"
    bound = ["--qualification", str(folder / "q"), "--board", str(board)]
    promote = ["promote", str(folder / "run"), *bound, "--key", str(keys / "robogate.key")]
    spent = {"promote": run(robogate(*promote)).cpu_s}
    (bundle,) = (board / "bundles").iterdir()
    verify = robogate("verify", str(bundle), "--key", str(keys / "robogate.pub"))
    spent["verify_bundle"] = run(verify).cpu_s
    spent["verify"] = run(robogate("verify", str(folder / "run"))).cpu_s
    for name, package in packages.items():
        spent[name] = printed(HASH, str(package), str(FILES + 2))
    for name, (before, call) in CALLS.items():
        timed = f"{call}\nbegan = time.process_time()\n{call}\nprint(time.process_time() - began)"
        spent[name] = printed(f"import time\n{before}{timed}")
    spent["mirror"], spent["mirrored"] = mirror(folder / f"mirrored_{number}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    facts = machine()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        note("making the runs and the packages")
        make_runs(folder)
        packages = {name: folder / name for name in ("package", "checkout")}
        for package in packages.values():
            make_package(package)
        commit(packages["checkout"])
        spent = [once(folder, packages, number) for number in range(args.times)]
    samples = {name: Sample(tuple(one[name] for one in spent)) for name in TITLES}
    limits = {name: limit for name, (_, limit) in TITLES.items() if limit is not None}
    rows = [
        [title, f"{min(samples[name].values):.2g}", f"{samples[name].median:.2g}",
         "" if limit is None else f"{limit:g}"]
        for name, (title, limit) in TITLES.items()
    ]  # fmt: skip
    text = "\n".join(
        [
            table(["CPU s", "best", "median", "limit"], rows),
            "",
            f"{args.times} times each.",
            "",
            machine_line(facts),
        ]
    )
    document: dict[str, Any] = {
        "machine": facts,
        "cpu_s": {name: sample.document() for name, sample in samples.items()},
        "limits_s": limits,
    }
    publish("evidence", document, text)
    late = [name for name, limit in limits.items() if samples[name].median > limit]
    if late:
        sys.exit(f"above the limit: {', '.join(late)}")


if __name__ == "__main__":
    main()
