"""What a client is told when a call is refused or fails: an HTTP status, a code and a sentence."""

from __future__ import annotations

from robogate.errors import EpisodeError, EvidenceError, RobogateError, RunError, UsageError

#: Nothing moved when one of these is raised: the same step may carry another action.
NOTHING_MOVED = frozenset(
    {
        "out_of_order", "action_type", "action_shape", "action_not_finite", "action_out_of_range",
    }
)  # fmt: skip

#: Codes that are about what the client asked for.
_STATUS = {
    "out_of_order": 409,
    **dict.fromkeys(NOTHING_MOVED - {"out_of_order"}, 422),
    "wrong_scenario": 422,
    "registration_mismatch": 422,
}

#: What an error stops; the runner's own error hierarchy.
KINDS: dict[str, type[RobogateError]] = {
    "run": RunError,
    "episode": EpisodeError,
    "usage": UsageError,
    "evidence": EvidenceError,
}


class CallError(RobogateError):
    """A call that is answered with an error.

    Args:
        status: HTTP status.
        code: Machine-readable name.
        message: One sentence for a person.
        kind: What it stops: a key of `KINDS`, ``client`` (the request alone) or ``internal``.
    """

    def __init__(self, status: int, code: str, message: str, kind: str = "client") -> None:
        super().__init__(" ".join(message.split()), code=code)
        self.status = status
        self.kind = kind

    def body(self) -> dict[str, str]:
        """The reply's body."""
        return {"error": self.message, "code": self.code, "kind": self.kind}


def from_environment(error: Exception) -> CallError:
    """What a client is told of an environment's exception.

    The text of an exception that is not robogate's own stays in the worker's log: nobody knows what
    a simulator writes into it.
    """
    for kind, cls in KINDS.items():
        if isinstance(error, cls):
            default = 422 if kind == "usage" else 500
            return CallError(_STATUS.get(error.code, default), error.code, error.message, kind)
    return CallError(
        500,
        "internal",
        f"the environment raised {type(error).__name__}; the worker's log says where",
        "internal",
    )
