"""`robogate contract`: print a contract and its hashes, and run nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from robogate.config.arguments import read_arguments

HELP = """\
usage: robogate contract [KEY=VALUE ...] [--hash] [--config-dir DIR]

Print the frozen contract of an evaluation as JSON, with its hashes; run nothing.

  --hash            print the contract hash alone
  --config-dir DIR  your own config groups and options, beside ours

The object has the keys contract, contract_sha256 and harness_contract_sha256.
"""


def main(argv: Sequence[str]) -> int:
    """Run the verb; 0 where the contract could be frozen.

    Raises:
        UsageError: The request or the configuration is wrong.
    """
    if {"-h", "--help"} & set(argv):
        print(HELP, end="")
        return 0
    arguments = read_arguments(argv, ("--hash",))

    from robogate.config.compose import compose

    (point,) = compose(arguments.overrides, config_dir=arguments.config_dir)
    frozen = point.frozen
    if "--hash" in arguments.switches:
        print(frozen.sha256)
        return 0
    shown = {
        "contract": frozen.document,
        "contract_sha256": frozen.sha256,
        "harness_contract_sha256": frozen.harness_sha256,
    }
    print(json.dumps(shown, indent=1, ensure_ascii=False, allow_nan=False))
    return 0
