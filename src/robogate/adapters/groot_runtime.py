"""NVIDIA's ``gr00t`` package, imported and loaded: the policy classes of its generations.

Facts: `gr00t/model/policy.py`, `gr00t/experiment/data_config.py` and `examples/Libero/` (N1.5),
`gr00t/policy/gr00t_policy.py` (N1.6, N1.7) of NVIDIA/Isaac-GR00T. The package is on no index: it is
installed from its own repository, N1.5 in another environment than the later ones.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from robogate.adapters.groot_files import GrootCheckpoint
from robogate.adapters.groot_layout import LANGUAGE, VIDEO_NAMES
from robogate.adapters.libero import STATE_NAMES
from robogate.adapters.seeds import torch_seeded
from robogate.contract.adapter_schema import GrootAdapter
from robogate.errors import RunError

CLASS = "Gr00tPolicy"
MODULES: Mapping[str, str] = {
    "n1.5": "gr00t.model.policy",
    "n1.6": "gr00t.policy.gr00t_policy",
    "n1.7": "gr00t.policy.gr00t_policy",
}
TAGS: Mapping[str, str] = {
    "n1.5": "gr00t.data.embodiment_tags",
    "n1.6": "gr00t.data.embodiment_tags",
    "n1.7": "gr00t.data.embodiment_tags",
}


@dataclass(frozen=True)
class Runtime:
    """A loaded policy class.

    Attributes:
        module: That defines it.
        class_name: Of it.
        call: Observation map → action map, in the generation's layout.
    """

    module: str
    class_name: str
    call: Callable[[Mapping[str, Any]], Any]

    def act(self, observation: Mapping[str, Any], seed: int | None) -> Any:
        """Make one inference; everything that is drawn in it follows from the seed."""
        with torch_seeded(seed):
            return self.call(observation)


def load_runtime(checkpoint: GrootCheckpoint, adapter: GrootAdapter) -> Runtime:
    """Import the package of the checkpoint's generation and load the checkpoint.

    Raises:
        RunError: ``load``: the package is missing or of another generation, or refuses the
            checkpoint, or has loaded another interface than the files describe.
    """
    # A checkpoint is a folder; what a configuration names on a hub is taken from the cache.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    module = MODULES[adapter.layout]
    policy_class = getattr(_import(module, adapter), CLASS, None)
    if policy_class is None:
        raise _load_error(adapter, f"module {module} has no class {CLASS}")
    try:
        if adapter.layout == "n1.5":
            policy, configs = _load_n15(policy_class, checkpoint, adapter)
        else:
            policy, configs = _load_later(policy_class, checkpoint, adapter)
    except RunError:
        raise
    except (Exception, SystemExit) as exc:
        raise _load_error(
            adapter,
            f"{checkpoint.folder}: {CLASS} cannot load it ({type(exc).__name__}: "
            f"{' '.join(str(exc).split())[:300]})",
        ) from exc
    _require_same_interface(configs, checkpoint, adapter)
    if adapter.layout == "n1.5":
        return Runtime(module, CLASS, policy.get_action)
    # Later generations answer with a pair of actions and information about them.
    return Runtime(module, CLASS, lambda observation: policy.get_action(observation)[0])


def _load_n15(
    policy_class: Any, checkpoint: GrootCheckpoint, adapter: GrootAdapter
) -> tuple[Any, Any]:
    if adapter.data_config is None:
        raise _load_error(
            adapter,
            "adapter.data_config must name N1.5's data configuration as module:Class; NVIDIA's for "
            "LIBERO are examples.Libero.custom_data_config:LiberoDataConfig and "
            ":LiberoDataConfigMeanStd (goal and long)",
        )
    module_name, _, class_name = adapter.data_config.partition(":")
    config_class = getattr(_import(module_name, adapter), class_name, None)
    if config_class is None:
        raise _load_error(adapter, f"adapter.data_config: no '{class_name}' in {module_name}")
    data_config = config_class()
    configs = data_config.modality_config()
    policy = policy_class(
        model_path=str(checkpoint.folder),
        embodiment_tag=checkpoint.tag,
        modality_config=configs,
        modality_transform=data_config.transform(),
        denoising_steps=adapter.denoising_steps,
        device=adapter.device,
    )
    return policy, configs


def _load_later(
    policy_class: Any, checkpoint: GrootCheckpoint, adapter: GrootAdapter
) -> tuple[Any, Any]:
    tags = getattr(_import(TAGS[adapter.layout], adapter), "EmbodimentTag", None)
    try:
        tag = tags(checkpoint.tag) if tags is not None else None
    except ValueError:
        tag = None
    if tag is None:
        raise _load_error(
            adapter,
            f"the installed gr00t knows no embodiment tag '{checkpoint.tag}', which the checkpoint "
            "has: install the release that it was trained with",
        )
    policy = policy_class(
        embodiment_tag=tag, model_path=str(checkpoint.folder), device=adapter.device, strict=True
    )
    return policy, policy.get_modality_config()


def _require_same_interface(
    configs: Any, checkpoint: GrootCheckpoint, adapter: GrootAdapter
) -> None:
    """What was loaded has the keys and the horizon that the files have."""
    prefixed = adapter.layout == "n1.5"
    expected = {
        "video": VIDEO_NAMES,
        "state": STATE_NAMES,
        "action": STATE_NAMES,
        "language": (LANGUAGE,),
    }
    for name, keys in expected.items():
        prefix = f"{name}." if prefixed and name != "language" else ""
        wanted = [f"{prefix}{key}" for key in keys]
        found = list(configs[name].modality_keys)
        if found != wanted:
            raise _load_error(
                adapter, f"what was loaded has {name} keys {found}, the checkpoint {wanted}"
            )
    steps = len(configs["action"].delta_indices)
    if steps != checkpoint.horizon:
        where = "adapter.data_config" if prefixed else "what was loaded"
        raise _load_error(
            adapter, f"{where} has a horizon of {steps}, the checkpoint one of {checkpoint.horizon}"
        )


def _import(module: str, adapter: GrootAdapter) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as exc:
        missing = exc.name or module
        raise _load_error(
            adapter,
            f"no module '{missing}' in this Python: install NVIDIA/Isaac-GR00T of generation "
            f"{adapter.layout} in it (docs/adapters/groot.md), or check adapter.layout",
        ) from exc
    except (Exception, SystemExit) as exc:
        raise _load_error(
            adapter,
            f"module {module} raised {type(exc).__name__} on import: "
            f"{' '.join(str(exc).split())[:200]}",
        ) from exc


def _load_error(adapter: GrootAdapter, what: str) -> RunError:
    return RunError(f"adapter=groot adapter.layout={adapter.layout}: {what}", code="load")
