"""Publication and withdrawal broken off at every single step: readers see the old or the new."""

import errno
import json
import multiprocessing
import os
import shutil
import signal

import pytest

from robogate.contract.canonical import sha256_file
from robogate.errors import UsageError
from robogate.evidence.board import Trust, read_board
from robogate.evidence.bundle import read_bundle
from robogate.evidence.log_files import read_log, trusted_log
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.signing import key_id
from robogate.evidence.withdrawal import withdraw
from robogate.reports import publish as module
from robogate.reports.publish import publish

NOW = "2026-12-01T10:00:00.000000+00:00"
LATER = "2026-12-02T10:00:00.000000+00:00"


class Counting(PublicationFiles):
    """Notes every step."""

    def __init__(self):
        self.steps = []

    def step(self, operation, path):
        self.steps.append((operation, str(path)))


class Failing(Counting):
    """Fails at one step, as a full disk does, or kills the process there."""

    def __init__(self, at, code=errno.ENOSPC, kill=False):
        super().__init__()
        self._at, self._code, self._kill = at, code, kill

    def step(self, operation, path):
        super().step(operation, path)
        if len(self.steps) - 1 == self._at:
            if self._kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(self._code, os.strerror(self._code), str(path))


class FailingFrom(Failing):
    """Fails at a step and at every later one, as a disk that has become read-only does."""

    def step(self, operation, path):
        Counting.step(self, operation, path)
        if len(self.steps) - 1 >= self._at:
            raise OSError(self._code, os.strerror(self._code), str(path))


class Stage:
    """A board that was published, and has a new bundle since.

    Args:
        folder: Holds ``board`` and ``public``.
        trust: Whose bundles are accepted.
    """

    def __init__(self, folder, trust):
        self.board, self.public, self.trust = folder / "board", folder / "public", trust

    def copy(self, folder):
        # Nothing here is ever changed in place, so a copy may share its files.
        shutil.copytree(self.board.parent, folder, symlinks=True, copy_function=os.link)
        return Stage(folder, self.trust)

    def publish(self, files=None):
        return publish(self.board, self.public, self.trust, now=LATER, files=files)

    def shown(self):
        """Names of the bundles that a reader sees, everything that is shown being whole."""
        index = json.loads((self.public / "index.json").read_text())
        page = (self.public / "index.html").read_text()
        assert page.rstrip().endswith("</html>") and index["head"]["sha256"] in page
        assert len((self.public / "log.jsonl").read_text().splitlines()) == index["head"]["entries"]
        names = {r["bundle"] for a in index["arenas"] for k in a["rankings"] for r in k["rows"]}
        assert {p.name for p in (self.public / "bundles").iterdir()} == names
        for name in names:
            folder = self.public / "bundles" / name
            assert all(
                sha256_file(folder / f.path) == f.sha256 for f in read_bundle(folder).record.files
            )
        return names

    def require_tidy(self):
        """Nothing but the tree that is shown, and the one before, is left anywhere."""
        trees = self.public.parent / ".public.trees"
        assert len([p for p in trees.iterdir() if p.name.startswith("tree-")]) <= 2
        assert all(p.name == "lock" or p.name.startswith("tree-") for p in trees.iterdir())
        assert not list(self.board.glob(".*.tmp"))
        trusted_log(self.board)


@pytest.fixture(scope="module")
def stage(boards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stage")
    made = Stage(folder, Trust({key_id(boards.public): boards.public}))
    made.old = boards.promote(made.board, boards.PolicySpec()).name
    publish(made.board, made.public, made.trust, now=NOW)
    made.new = boards.promote(made.board, boards.PolicySpec(run=2, target="new:Policy")).name
    return made


@pytest.fixture
def verified_once(stage, monkeypatch):
    """Verify the two bundles once: what is tested here is what happens on the disk."""
    items = {}

    def cached(board, trust, log, progress=None):
        key = len(log.ended)
        if key not in items:
            items[key] = read_board(board, trust, log)
        return items[key]

    monkeypatch.setattr(module, "read_board", cached)
    # No test cuts the power: what reaches the disk when is not seen here, and costs minutes.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def steps_of(stage, tmp_path, act):
    files = Counting()
    act(stage.copy(tmp_path / "counted"), files)
    shutil.rmtree(tmp_path / "counted")
    return files.steps


def interesting(steps):
    """Every step but the many that link one more file: of those, some."""
    links = [i for i, (operation, _) in enumerate(steps) if operation == "link"]
    folders = [i for i, (operation, _) in enumerate(steps) if operation in ("mkdir", "sync_folder")]
    many = {*links[2:-2], *folders[2:-2]}
    return sorted({*range(len(steps))} - many | {*links[::9], *folders[::5]})


@pytest.mark.parametrize("kind", [Failing, pytest.param(FailingFrom, marks=pytest.mark.slow)])
def test_publish_fails_at_every_step(stage, tmp_path, verified_once, kind):
    steps = steps_of(stage, tmp_path, Stage.publish)
    assert {"link", "write", "sync", "rename", "symlink", "replace"} <= {s for s, _ in steps}
    outcomes = set()
    for at in interesting(steps):
        copy = stage.copy(tmp_path / str(at))
        try:
            copy.publish(kind(at))
        except UsageError as exc:
            assert exc.exit_code == 2 and "No space left" in exc.message, steps[at]
        shown = copy.shown()
        assert shown in ({stage.old}, {stage.old, stage.new}), steps[at]
        outcomes.add(len(shown))
        trusted_log(copy.board)
        copy.publish()
        assert copy.shown() == {stage.old, stage.new}
        copy.require_tidy()
        shutil.rmtree(copy.board.parent)
    assert outcomes == {1, 2}


def killed_at(act, at):
    """Run in a process that is killed at a step."""
    process = multiprocessing.get_context("fork").Process(
        target=act, args=(Failing(at, kill=True),)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_publish_killed_at_every_step(stage, tmp_path, verified_once):
    stage.copy(tmp_path / "warm").publish()  # the verification is kept for the children
    steps = steps_of(stage, tmp_path, Stage.publish)
    outcomes = set()
    for at in interesting(steps):
        copy = stage.copy(tmp_path / str(at))
        killed_at(copy.publish, at)
        shown = copy.shown()
        assert shown in ({stage.old}, {stage.old, stage.new}), steps[at]
        outcomes.add(len(shown))
        copy.publish()
        assert copy.shown() == {stage.old, stage.new}
        copy.require_tidy()
        shutil.rmtree(copy.board.parent)
    assert outcomes == {1, 2}


@pytest.mark.slow
def test_the_first_publication_killed_at_every_step(stage, tmp_path, verified_once):
    def fresh(folder):
        copy = stage.copy(folder)
        copy.public.unlink()
        shutil.rmtree(copy.public.parent / ".public.trees")
        copy.public.mkdir()  # an empty folder, as a user may have made it
        return copy

    counted = fresh(tmp_path / "counted")
    files = Counting()
    counted.publish(files)
    for at in interesting(files.steps):
        copy = fresh(tmp_path / str(at))
        killed_at(copy.publish, at)
        if os.path.lexists(copy.public) and any(copy.public.iterdir()):
            assert copy.shown() == {stage.old, stage.new}
        copy.publish()
        assert copy.shown() == {stage.old, stage.new}
        copy.require_tidy()
        shutil.rmtree(copy.board.parent)


def withdrawing(copy, files=None):
    withdraw(copy.board, copy.victim, reason="wrong", now=LATER, files=files)


def test_withdraw_fails_or_is_killed_at_every_step(stage, tmp_path, verified_once):
    def prepared(folder):
        copy = stage.copy(folder)
        copy.victim = stage.old
        return copy

    counted = prepared(tmp_path / "counted")
    files = Counting()
    withdrawing(counted, files)
    assert [operation for operation, _ in files.steps] == [
        "create", "write", "sync", "replace", "sync_folder",
    ]  # fmt: skip
    for at in range(len(files.steps)):
        for kill in (False, True):
            copy = prepared(tmp_path / f"{at}-{kill}")
            if kill:
                killed_at(lambda failing, copy=copy: withdrawing(copy, failing), at)
            else:
                with pytest.raises(UsageError, match="the log cannot be written"):
                    withdrawing(copy, Failing(at, errno.EROFS))
            log = read_log(copy.board)
            assert len(log.entries) == (1 if at <= 3 else 2), files.steps[at]
            if stage.old not in log.ended:
                withdrawing(copy)
            assert list(read_log(copy.board).ended) == [stage.old]
            assert not list(copy.board.glob(".*.tmp"))
            copy.publish()
            assert stage.old in {e["bundle"] for e in ended(copy)}


def ended(copy):
    return json.loads((copy.public / "index.json").read_text())["ended"]


def test_a_read_only_board_is_published_when_nothing_is_new(stage, tmp_path, verified_once):
    copy = stage.copy(tmp_path / "copy")
    copy.publish()
    files = Counting()
    copy.publish(files)
    assert files.steps and not any(path.startswith(str(copy.board)) for _, path in files.steps)


def test_trees_on_another_file_system_are_copied(stage, tmp_path, verified_once, monkeypatch):
    def no_link(source, target, **options):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source))

    copy = stage.copy(tmp_path / "copy")
    monkeypatch.setattr(os, "link", no_link)
    copy.publish()
    assert copy.shown() == {stage.old, stage.new}
    published = copy.public / "bundles" / stage.new / "bundle.json"
    assert not os.path.samefile(published, copy.board / "bundles" / stage.new / "bundle.json")


def _publish_often(stage, times):
    for _ in range(times):
        stage.publish()


def _withdraw(stage, name):
    withdraw(stage.board, name, reason="wrong", now=LATER)


def test_concurrent_publishers_and_withdrawals(stage, tmp_path):
    copy = stage.copy(tmp_path / "copy")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_publish_often, args=(copy, 2)) for _ in range(3)]
    processes += [
        context.Process(target=_withdraw, args=(copy, name)) for name in (stage.old, stage.new)
    ]
    for process in processes:
        process.start()
    seen, running = 0, True
    while running:  # and once more when all have ended
        running = any(process.is_alive() for process in processes)
        # A reader opens the tree once, and then what is in it.
        tree = copy.public.resolve()
        try:
            index = json.loads((tree / "index.json").read_text())
            page = (tree / "index.html").read_text()
        except FileNotFoundError:
            # A slow reader finds the tree gone, but only where another has taken its place.
            assert copy.public.resolve() != tree
            continue
        assert index["head"]["sha256"] in page
        seen += 1
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert seen
    assert set(trusted_log(copy.board).ended) == {stage.old, stage.new}
    copy.publish()
    assert len(ended(copy)) == 2
    copy.require_tidy()
