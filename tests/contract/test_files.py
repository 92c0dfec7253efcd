"""Reading plain files only, whatever else lies in their place."""

import os
import socket
from pathlib import Path

import pytest

from robogate.contract import files
from robogate.contract.files import read_bounded
from robogate.errors import EvidenceError


def test_a_plain_file_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(EvidenceError, match="file: larger than 4 bytes") as caught:
        read_bounded(path, 4)
    assert caught.value.code == "unreadable"


def a_link(path):
    path.with_name("target").write_text("secret")
    path.symlink_to(path.with_name("target"))


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    ("make", "message"),
    (
        (lambda path: None, "is missing"),
        (a_link, "is a symbolic link, expected a file"),
        (os.mkfifo, "is not a file"),
        (os.mkdir, "is not a file"),
        (a_socket, "is not a file"),
    ),
)
def test_anything_else_is_named(tmp_path, monkeypatch, make, message):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    make(Path("thing"))
    with pytest.raises(EvidenceError, match=f"thing: {message}"):
        read_bounded(Path("thing"))


def test_a_name_out_of_a_document_may_be_no_name(tmp_path):
    with pytest.raises(EvidenceError, match="no file has this name"):
        read_bounded(tmp_path / "a\0b")


def test_what_is_looked_at_is_what_was_opened(tmp_path, monkeypatch):
    """Whoever puts a link there just before it is opened gains nothing."""
    path = tmp_path / "file"
    path.write_text("plain")
    opening = os.open

    def swapped(name, *args, **options):
        path.unlink()
        a_link(path)
        return opening(name, *args, **options)

    monkeypatch.setattr(files.os, "open", swapped)
    with pytest.raises(EvidenceError, match="is a symbolic link"):
        read_bounded(path)
