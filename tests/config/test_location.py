"""Addresses and paths: checked before anything runs, and taken out of what is hashed."""

import pytest

from robogate.config.location import take_location
from robogate.contract.adapter_schema import ADAPTERS, LOCAL_CHECKPOINT, SERVER_SCHEMES
from robogate.errors import ConfigError
from robogate.records.location import PolicyLocation


def message(kind, **raw):
    with pytest.raises(ConfigError) as caught:
        take_location(kind, raw)
    return caught.value.message


def test_every_policy_is_in_this_process_or_behind_an_address():
    assert {*LOCAL_CHECKPOINT} | {*SERVER_SCHEMES} == {*ADAPTERS} - {"zero", "oracle"}
    assert not {*LOCAL_CHECKPOINT} & {*SERVER_SCHEMES}


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("groot_server", "tcp://127.0.0.1:5555"),
        ("openpi", "ws://host:8000"),
        ("openpi", "wss://host.example:8000/path"),
        ("xpolicylab", "ws://[::1]:9000"),
    ],
)
def test_an_address_is_taken_out(kind, url):
    raw = {"url": url, "model": None}
    assert take_location(kind, raw) == PolicyLocation(url=url)
    assert raw == {"model": None}


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:5555", "http://h:1", "tcp://h", "tcp://:5555", "tcp://h:port", "tcp://h:99999"],
)
def test_what_is_no_address_is_refused(url):
    assert message("groot_server", url=url) == (
        f"adapter.url: is {url!r}, expected tcp://HOST:PORT"
    )


@pytest.mark.parametrize(
    "url", ["ws://user:word@host:1", "ws://host:1/?token=x", "ws://host:1/#part"]
)
def test_a_secret_in_an_address_would_be_published(url):
    text = message("openpi", url=url)
    assert text.startswith("adapter.url: holds more than an address, and it stands in every result")
    assert "word" not in text and "token" not in text


@pytest.mark.parametrize("raw", [{}, {"url": None}])
def test_a_server_needs_an_address(raw):
    assert message("openpi", **raw) == (
        "adapter.url: must be given: expected ws://HOST:PORT or wss://HOST:PORT"
    )
    assert message("openpi", url="???") == "adapter.url: must be given: adapter.url=…"


def test_a_path_is_absolute_and_has_to_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    raw = {"checkpoint": "model"}
    assert take_location("bc", raw) == PolicyLocation(checkpoint=tmp_path / "model")
    assert raw == {}
    assert message("bc", checkpoint="none") == "adapter.checkpoint: no such file or folder: 'none'"
    assert message("bc", checkpoint="") == "adapter.checkpoint: no such file or folder: ''"
    assert message("bc", checkpoint="???").startswith("adapter.checkpoint: must be given")
    assert message("bc", checkpoint=7).startswith("adapter.checkpoint: is 7, expected a string")


@pytest.mark.parametrize(
    ("kind", "key"), [("bc", "url"), ("openpi", "checkpoint"), ("zero", "url")]
)
def test_a_key_that_a_kind_has_no_use_for_is_left_to_be_refused(kind, key):
    raw = {key: "x", **({"url": "ws://h:1"} if kind == "openpi" else {})}
    assert take_location(kind, raw) in (PolicyLocation(), PolicyLocation(url="ws://h:1"))
    assert raw == {key: "x"}


def test_the_address_of_a_helper_beside_the_server_is_taken_out():
    raw = {"url": "ws://h:1", "attest": "http://h:2"}
    assert take_location("openpi", raw) == PolicyLocation(url="ws://h:1", attest="http://h:2")
    assert raw == {}
    assert message("openpi", url="ws://h:1", attest="h:2").startswith("adapter.attest: is 'h:2'")
    assert "more than an address" in message(
        "openpi", url="ws://h:1", attest="http://user:word@h:2"
    )
