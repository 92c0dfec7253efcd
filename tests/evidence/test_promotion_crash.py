"""Whatever fails, and wherever the process dies: the old state or the new, nothing between."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from bad.material import policy_spec

from robogate.errors import UsageError
from robogate.evidence.bundle import bundle_folders
from robogate.evidence.fs import FileSystem
from robogate.evidence.promotion import promote
from robogate.evidence.verify_bundle import verify_bundle

#: The quick tests take the first and last step of each operation and a few more, the slow ones all.
EVERY = pytest.mark.parametrize(
    "every", [90, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)


class Failing(FileSystem):
    """Fails at one step, or notes all of them."""

    def __init__(self, fail_at=None, action=None):
        self.steps, self.fail_at, self.action = [], fail_at, action

    def step(self, operation, path):
        if len(self.steps) == self.fail_at:
            self.action(operation, path)
        self.steps.append((operation, path))


def no_space(operation, path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def die(operation, path):
    os.kill(os.getpid(), signal.SIGKILL)


def run(material, board, fs=None):
    return promote(material.run, material.qualification, board, key=material.key, fs=fs)


@pytest.fixture(scope="module")
def steps(material, tmp_path_factory):
    """Every step of a promotion to a new board."""
    fs = Failing()
    run(material, tmp_path_factory.mktemp("steps") / "board", fs)
    return fs.steps


def chosen(steps, every):
    """The first and last step of each operation, and one in ``every`` of the others."""
    first = {operation: i for i, (operation, _) in reversed(list(enumerate(steps)))}
    last = {operation: i for i, (operation, _) in enumerate(steps)}
    return sorted({*first.values(), *last.values(), *range(0, len(steps), every)})


def test_every_kind_of_step_is_seen(steps):
    assert {operation for operation, _ in steps} == {
        "mkdir", "lock", "create", "write", "sync", "chmod", "sync_folder", "rename"
    }  # fmt: skip
    assert len(steps) > 200
    # Everything is on the disk before it gets its name, and the name before it is told.
    operations = [operation for operation, _ in steps]
    rename = operations.index("rename")
    assert operations.count("rename") == 1
    assert operations[rename + 1 :] == ["sync_folder"]
    assert operations[:rename].count("sync") == operations.count("create")


def whole_or_nothing(board, material):
    """The board shows the new bundle, whole, or does not; returns which."""
    new = board / "bundles" / material.bundle.name
    if new not in bundle_folders(board):
        assert not new.exists()
        return False
    assert verify_bundle(new, key=material.public).faults == ()
    return True


@EVERY
def test_a_step_that_fails_changes_nothing(every, material, tmp_path):
    board = tmp_path / "board"
    old = shutil.copytree(material.other, board / "bundles" / material.other.name)
    for _ in range(2):  # the second time, the board's own folders are there
        warm = Failing()
        new = run(material, board, warm).folder
        shutil.rmtree(new)
    for k in chosen(warm.steps, every):
        with pytest.raises(UsageError, match="No space left on device") as caught:
            run(material, board, Failing(k, no_space))
        assert caught.value.exit_code == 2 and "\n" not in caught.value.message
        # Only after the rename the new state is there, and the message says so.
        renamed = k > len(warm.steps) - 2
        assert whole_or_nothing(board, material) == renamed
        assert ("the bundle is in place" in caught.value.message) == renamed
        assert old in bundle_folders(board)
        assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]
        shutil.rmtree(new, ignore_errors=True)
    assert verify_bundle(old, key=material.public).holds
    assert run(material, board).created


def forked(function):
    """Run something in a child process; returns its exit status, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@EVERY
def test_a_process_that_is_killed_leaves_the_old_state_or_the_new(every, material, steps, tmp_path):
    board = tmp_path / "board"
    seen = set()
    for k in chosen(steps, every):
        shutil.rmtree(board, ignore_errors=True)
        assert forked(lambda k=k: run(material, board, Failing(k, die))) == -signal.SIGKILL
        seen.add(whole_or_nothing(board, material))
        # The next one clears up, and is not hindered; what it publishes, it has verified.
        assert run(material, board).folder in bundle_folders(board)
        assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]
    assert seen == {False, True}


def test_the_workshop_of_a_living_process_is_left_alone(material, tmp_path):
    board = tmp_path / "board"
    fs = FileSystem()
    with fs.workshop(board / ".staging") as mine:
        (mine / "half").write_text("work")
        run(material, board)
        assert (mine / "half").read_text() == "work"
    assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]


def test_only_workshops_are_removed(material, tmp_path):
    board = tmp_path / "board"
    theirs = [board / ".staging" / name for name in ("poetry", "0123456789abcdeX")]
    for place in theirs:
        (place / "file").mkdir(parents=True)
        place.with_name(f"{place.name}.lock").write_text("")
    abandoned = board / ".staging" / "0123456789abcdef"
    abandoned.mkdir()
    abandoned.with_name(f"{abandoned.name}.lock").write_text("")
    run(material, board)
    assert all((place / "file").is_dir() for place in theirs)
    assert not abandoned.exists()


def test_a_workshop_behind_a_link_is_somebody_elses(material, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "board").mkdir()
    (tmp_path / "board/.staging").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a symbolic link, expected a folder"):
        run(material, tmp_path / "board")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_many_promoters_at_once(material, builder, tmp_path):
    board = tmp_path / "board"
    spec = policy_spec(builder.Spec, run=7, qualification_id=material.qualification_id)
    other = builder.write(tmp_path / "run", spec)
    pids = []
    for i in range(6):
        pid = os.fork()
        if pid == 0:
            try:
                source = material.run if i % 2 else other
                promote(source, material.qualification, board, key=material.key)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 6
    folders = bundle_folders(board)
    assert len(folders) == 2 and material.bundle.name in {folder.name for folder in folders}
    assert all(verify_bundle(folder, key=material.public).holds for folder in folders)
    assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]


def test_a_limit_on_file_sizes_is_one_line(material, tmp_path):
    board = tmp_path / "board"

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with pytest.raises(UsageError, match="File too large"):
            run(material, board)

    assert forked(limited) == 0
    assert bundle_folders(board) == []
    assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]


def test_a_board_that_is_no_folder(material, tmp_path):
    (tmp_path / "board").write_text("")
    with pytest.raises(UsageError, match=r"--board .*/board: cannot be written \("):
        run(material, tmp_path / "board")
    assert (tmp_path / "board").read_text() == ""


PROMOTE = """
import sys
from robogate.cli import main
sys.exit(main(["promote", sys.argv[1], "--qualification", sys.argv[2], "--board", sys.argv[3],
               "--allow-unsigned"]))
"""


def in_a_mount(script, *arguments):
    """Run a shell script in a mount namespace of its own, where it may mount a small disk."""
    command = ["unshare", "-rm", "sh", "-ec", script, "sh", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def disks():
    if shutil.which("unshare") is None or in_a_mount("mount -t tmpfs none /mnt").returncode:
        pytest.skip("no mount namespaces here")


def mounted(material, board: Path, size: str, before_promotion: str):
    script = f"""
        mount -t tmpfs -o size={size} none "$2"
        {before_promotion}
        set +e
        "$3" -c "$4" "$5" "$6" "$2"
        status=$?
        find "$2" -mindepth 1 | sed "s|$2||" | sort >"$1/after"
        exit $status
    """
    board.mkdir()
    return in_a_mount(
        script, board.parent, board, sys.executable, PROMOTE, material.run, material.qualification
    )


@pytest.mark.usefixtures("disks")
def test_a_full_disk(material, tmp_path):
    done = mounted(material, tmp_path / "board", "400k", "")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "after").read_text().split() == ["/.staging", "/.staging/lock"]


@pytest.mark.usefixtures("disks")
def test_a_read_only_board(material, tmp_path):
    kept = 'mkdir "$2/bundles"; mount -o remount,ro "$2"'
    done = mounted(material, tmp_path / "board", "40m", kept)
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "after").read_text().split() == ["/bundles"]


@pytest.mark.usefixtures("disks")
def test_a_disk_that_is_just_large_enough(material, tmp_path):
    # Else the full disk above would show nothing.
    done = mounted(material, tmp_path / "board", "40m", "")
    assert (done.returncode, done.stderr) == (0, "")
