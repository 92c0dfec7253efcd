from __future__ import annotations

import pytest

from robogate.config.compose import compose
from robogate.errors import UsageError
from robogate.runs.preflight import prepare


@pytest.mark.parametrize(
    "override", ["runtime.env.url=http://127.0.0.1:1", "runtime.env.python=/usr/bin/python3"]
)
def test_what_was_to_run_elsewhere_is_not_quietly_run_here(override: str) -> None:
    (point,) = compose(["adapter=zero", override])
    with pytest.raises(UsageError) as caught:
        prepare(point)
    assert caught.value.exit_code == 2
    assert caught.value.message == (
        f"{override}: evaluations run their environments in child processes of this interpreter "
        "only; leave it null"
    )
