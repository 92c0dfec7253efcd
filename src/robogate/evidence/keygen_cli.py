"""`robogate keygen`: make the key pair that signs evidence."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from robogate.evidence.keys import create_keys, default_key_folder, load_public_key
from robogate.evidence.signing import key_id


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Raises:
        UsageError: A key is there already, or the folder cannot be written.
    """
    args = _parser().parse_args(argv)
    private, public = create_keys(args.out or default_key_folder())
    print(f"private key  {private}  (keep it to yourself: robogate promote --key {private} ...)")
    print(f"public key   {public}  (give it away: robogate verify --key {public} BUNDLE)")
    print(f"key id       {key_id(load_public_key(public))}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate keygen",
        description="Make an Ed25519 key pair that signs evidence: robogate.key (PKCS#8 PEM, mode "
        "0600) and robogate.pub. Existing keys are never overwritten.",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the keys; default ~/.config/robogate"
    )
    return parser
