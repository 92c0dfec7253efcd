import base64
import json
import os
import stat

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from robogate.errors import EvidenceError, UsageError
from robogate.evidence import keygen_cli
from robogate.evidence.keys import (
    create_keys,
    default_key_folder,
    load_private_key,
    load_public_key,
)
from robogate.evidence.signing import envelope_text, key_id, pae, parse_envelope, signature_fault

#: RFC 8032, section 7.1, test 1.
RFC_8032_KEY = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")


@pytest.fixture
def key():
    return Ed25519PrivateKey.from_private_bytes(RFC_8032_KEY)


def fault(data, signer, key=None, allow_unsigned=False):
    envelope, payload = parse_envelope(data, "envelope")
    return signature_fault(envelope, payload, signer=signer, key=key, allow_unsigned=allow_unsigned)


def test_what_is_signed_is_as_dsse_has_it():
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("http://example.com/HelloWorld", b"hello world") == expected
    # Lengths count bytes, not characters.
    assert pae("é", b"") == b"DSSEv1 2 \xc3\xa9 0 "


def test_an_envelope_can_be_verified_without_our_code(key):
    envelope = json.loads(envelope_text(b'{"a":1}', key))
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert base64.b64decode(envelope["payload"]) == b'{"a":1}'
    message = b'DSSEv1 28 application/vnd.in-toto+json 7 {"a":1}'
    sig = base64.b64decode(envelope["signatures"][0]["sig"])
    key.public_key().verify(sig, message)
    with pytest.raises(InvalidSignature):
        key.public_key().verify(sig, message + b" ")


def test_an_equal_payload_and_key_give_an_equal_envelope(key):
    assert envelope_text(b"x", key) == envelope_text(b"x", key)


def test_a_rightful_signature_has_no_fault(key):
    public = key.public_key()
    assert fault(envelope_text(b"{}", key).encode(), key_id(public), public) is None


def test_the_url_safe_alphabet_is_read_too(key):
    data = json.loads(envelope_text(b"\xff\xfe\xfd", key))
    data["payload"] = base64.urlsafe_b64encode(b"\xff\xfe\xfd").decode()
    data["signatures"][0]["sig"] = data["signatures"][0]["sig"].replace("+", "-").replace("/", "_")
    assert fault(json.dumps(data).encode(), key_id(key.public_key()), key.public_key()) is None


def test_every_way_to_be_unsigned_has_a_message_of_its_own(key):
    public, other = key.public_key(), Ed25519PrivateKey.generate().public_key()
    signed = envelope_text(b"{}", key).encode()
    unsigned = envelope_text(b"{}", None).encode()
    empty = json.loads(signed)
    empty["signatures"][0]["sig"] = ""
    stripped = json.dumps({**empty, "signatures": []}).encode()
    empty = json.dumps(empty).encode()
    signer = key_id(public)
    messages = [
        fault(signed, signer, other),
        fault(unsigned, None, public),
        fault(empty, signer, public),
        fault(stripped, signer, public),
        fault(signed, signer),
        fault(signed.replace(b'"payload": "e30="', b'"payload": "W10="'), signer, public),
    ]
    begins = [
        "wrong key: it was signed with key",
        "no signature: it is unsigned; --allow-unsigned",
        "empty signature: a key is named",
        "no signature: it was signed with key",
        "signature not checked: no public key was given",
        "wrong signature: it is not this key's",
    ]
    for message, beginning in zip(messages, begins, strict=True):
        assert message is not None and message.startswith(beginning)


def test_leave_to_be_unsigned_covers_nothing_that_is_wrong(key):
    public, other = key.public_key(), Ed25519PrivateKey.generate().public_key()
    signer = key_id(public)
    signed = envelope_text(b"{}", key).encode()
    assert fault(envelope_text(b"{}", None).encode(), None, allow_unsigned=True) is None
    assert fault(signed, signer, allow_unsigned=True) is None
    assert fault(signed, signer, other, allow_unsigned=True) is not None
    assert fault(envelope_text(b"{}", None).encode(), signer, allow_unsigned=True) is not None
    assert fault(signed, None, public, allow_unsigned=True) is not None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", r"\$.payload: missing field"),
        (b'{"payload": "", "payload": ""}', "duplicate key 'payload'"),
        (b'{"payload": "", "payloadType": "x", "signatures": []}', "payloadType is 'x', expected"),
        (
            b'{"payload": "*", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
            "payload is not base64",
        ),
    ],
)
def test_what_is_no_envelope_is_refused(data, message):
    with pytest.raises(EvidenceError, match=message):
        parse_envelope(data, "it")


# ---- keys


def test_keys_are_made_for_their_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        private, public = create_keys(tmp_path / "new" / "keys")
    finally:
        os.umask(old)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert private.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert b"PRIVATE" not in public.read_bytes()
    signed = load_private_key(private).sign(b"x")
    load_public_key(public).verify(signed, b"x")


@pytest.mark.parametrize("name", ["robogate.key", "robogate.pub"])
def test_a_key_is_never_overwritten(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=f"{name} exists; a key is never overwritten"):
        create_keys(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_dangling_link_is_not_written_through(tmp_path):
    (tmp_path / "robogate.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists"):
        create_keys(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_keys_that_cannot_be_written_leave_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="keys cannot be written to"):
        create_keys(tmp_path / "file")


def test_what_cannot_sign_is_named(tmp_path):
    private, public = create_keys(tmp_path)
    with pytest.raises(UsageError, match="is a public key; sign with the private one"):
        load_private_key(public)
    with pytest.raises(UsageError, match="is a private key; verify with the public one"):
        load_public_key(private)
    private.chmod(0o640)
    with pytest.raises(UsageError, match="mode 0640 lets others read the private key; chmod 600"):
        load_private_key(private)
    with pytest.raises(UsageError, match="cannot be read"):
        load_private_key(tmp_path / "nothing")
    (tmp_path / "text").write_text("no key")
    (tmp_path / "text").chmod(0o600)
    with pytest.raises(UsageError, match="not a private key in PEM form"):
        load_private_key(tmp_path / "text")
    with pytest.raises(UsageError, match="not a public key in PEM form"):
        load_public_key(tmp_path / "text")


def test_another_kind_of_key_is_refused(tmp_path, key):
    other = ec.generate_private_key(ec.SECP256R1())
    path = tmp_path / "other"
    plain = serialization.NoEncryption()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(other.private_bytes(pem, pkcs8, plain))
    path.chmod(0o600)
    with pytest.raises(UsageError, match=r"EC.*, expected Ed25519 \(robogate keygen\)"):
        load_private_key(path)
    locked = serialization.BestAvailableEncryption(b"secret")
    path.write_bytes(key.private_bytes(pem, pkcs8, locked))
    with pytest.raises(UsageError, match="the key is encrypted; store it in plain PEM"):
        load_private_key(path)


def test_keygen_says_what_to_do_with_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert keygen_cli.main([]) == 0
    folder = default_key_folder()
    assert folder == tmp_path / "config" / "robogate"
    out = capsys.readouterr().out
    assert key_id(load_public_key(folder / "robogate.pub")) in out
    assert f"promote --key {folder / 'robogate.key'}" in out
    with pytest.raises(UsageError):
        keygen_cli.main([])
    assert keygen_cli.main(["--out", str(tmp_path / "two")]) == 0
