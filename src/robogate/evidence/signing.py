"""DSSE envelopes with an Ed25519 signature: what makes a later change of measured values visible.

An envelope is DSSE 1.0 (https://github.com/secure-systems-lab/dsse): what is signed is the type
and the bytes of the payload, never a re-serialised document. Ours holds one signature, or none
where the evidence is unsigned; then it is no valid DSSE envelope, on purpose.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robogate.contract.canonical import loads_strict
from robogate.contract.strict import decode
from robogate.errors import EvidenceError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Signature:
    """One signature of an envelope.

    Attributes:
        keyid: Hint at the key, not trusted: which key signed is decided by trying it.
        sig: Signature, base64.
    """

    keyid: str
    sig: str


@dataclass(frozen=True)
class Envelope:
    """A DSSE envelope.

    Attributes:
        payload: What is signed, base64.
        payloadType: Its type, signed too.
        signatures: One for each signer; empty where it is unsigned.
    """

    payload: str
    payloadType: str
    signatures: tuple[Signature, ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's pre-authentication encoding."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id(key: Ed25519PublicKey) -> str:
    """Name of a public key in bundles and messages: SHA-256 of its SubjectPublicKeyInfo."""
    from cryptography.hazmat.primitives import serialization

    info = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(info).hexdigest()


def envelope_text(payload: bytes, key: Ed25519PrivateKey | None) -> str:
    """An envelope as JSON text; without a key it carries no signature.

    Ed25519 is deterministic, so an equal payload and key give an equal envelope.
    """
    signatures = []
    if key is not None:
        sig = key.sign(pae(PAYLOAD_TYPE, payload))
        signatures.append(
            {"keyid": key_id(key.public_key()), "sig": base64.b64encode(sig).decode("ascii")}
        )
    envelope = {
        "payload": base64.b64encode(payload).decode("ascii"),
        "payloadType": PAYLOAD_TYPE,
        "signatures": signatures,
    }
    return json.dumps(envelope, indent=1) + "\n"


def parse_envelope(data: bytes, source: str) -> tuple[Envelope, bytes]:
    """Decode an envelope and its payload.

    Raises:
        EvidenceError: Not strict JSON, not an envelope, not base64, or of another payload type.
    """
    envelope = decode(Envelope, loads_strict(data, source=source))
    if envelope.payloadType != PAYLOAD_TYPE:
        raise EvidenceError(
            f"{source}: payloadType is {envelope.payloadType!r:.80}, expected {PAYLOAD_TYPE!r}",
            code="envelope",
        )
    payload = _unbase64(envelope.payload)
    if payload is None:
        raise EvidenceError(f"{source}: payload is not base64", code="envelope")
    return envelope, payload


def _unbase64(text: str) -> bytes | None:
    """Decode either alphabet, as DSSE requires of a verifier; None where it is neither."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def signature_fault(
    envelope: Envelope,
    payload: bytes,
    *,
    signer: str | None,
    key: Ed25519PublicKey | None,
    allow_unsigned: bool,
) -> str | None:
    """Why an envelope is not acceptable, or None where it is.

    Args:
        envelope: Decoded.
        payload: Its decoded payload.
        signer: ID of the key that the signed document names; None where it says it is unsigned.
        key: Trusted public key, or None where the verifier has none.
        allow_unsigned: Whether a missing or unchecked signature is accepted; a wrong one never is.
    """
    if not envelope.signatures:
        if signer is not None:
            return f"no signature: it was signed with key {signer[:16]}, and the signature is gone"
        if allow_unsigned:
            return None
        return "no signature: it is unsigned; --allow-unsigned accepts it as such"
    if len(envelope.signatures) > 1:
        return f"{len(envelope.signatures)} signatures, expected one"
    signature = envelope.signatures[0]
    if not signature.sig:
        return "empty signature: a key is named, and no signature of it is there"
    if signer is None:
        return "a signature where the document says that it is unsigned"
    if key is None:
        if allow_unsigned:
            return None
        return (
            f"signature not checked: no public key was given (it names key {signer[:16]}); give "
            "the signer's with --key, or go without it with --allow-unsigned"
        )
    if _verifies(key, signature, pae(envelope.payloadType, payload)):
        return None if key_id(key) == signer else f"the document names another key, {signer[:16]}"
    if key_id(key) == signer:
        return "wrong signature: it is not this key's over this statement; one of the two changed"
    return (
        f"wrong key: it was signed with key {signer[:16]}, the key given is {key_id(key)[:16]}; "
        "give the signer's with --key"
    )


def _verifies(key: Ed25519PublicKey, signature: Signature, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    sig = _unbase64(signature.sig)
    if sig is None:
        return False
    try:
        key.verify(sig, message)
    except InvalidSignature:
        return False
    return True
