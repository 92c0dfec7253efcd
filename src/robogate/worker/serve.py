"""`robogate serve`: the whole life of a worker process.

Nothing but the standard library is imported before signals are taken over: a library that is
interrupted while it is imported makes errors of its own of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from robogate.errors import Terminated
from robogate.worker.leaving import asked_to_end, descendants, end_children, leave, say


def main(argv: Sequence[str]) -> int:
    """Run the verb; it returns nowhere: the process ends, or the request is refused.

    Args:
        argv: Arguments of the verb.

    Raises:
        UsageError: The request cannot be carried out as written.
    """
    others = descendants()
    with asked_to_end() as ending:
        try:
            with ending.interruptible():
                from robogate.worker.serve_cli import serve
            serve(argv, ending)
            status = 0
        except Terminated as exc:
            say("asked to end before its robot was ready")
            status = exc.status
        except BaseException:
            end_children(spared=others)  # whatever the factory had started before it failed
            raise
        leave(status)
