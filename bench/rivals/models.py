# SPDX-License-Identifier: Apache-2.0
"""The shapes of the models and machines that all contenders compile: the same as Slipway's presets and catalogue."""

from typing import NamedTuple


class Model(NamedTuple):
    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    theta: float
    tied: bool
    axlearn: str | None  # the trainer config in axlearn.experiments.text.gpt.c4_trainer; "tiny" is made from these sizes


MODELS = {
    "tiny-llama": Model(256, 64, 2, 4, 2, 16, 128, 1e4, True, "tiny"),
    "smollm2-135m": Model(49152, 576, 30, 9, 3, 64, 1536, 1e5, True, None),
    "fuji-1b": Model(131072, 2048, 16, 32, 8, 64, 8192, 5e5, True, "fuji-1B-v3"),
    "fuji-7b": Model(32768, 4096, 32, 32, 32, 128, 11008, 1e4, True, "fuji-7B-v2"),
    "llama-3-8b": Model(128256, 4096, 32, 32, 8, 128, 14336, 5e5, False, None),
    "fuji-70b": Model(32768, 8192, 80, 64, 8, 128, 28672, 1e4, False, "fuji-70B-v2"),
}


class Target(NamedTuple):
    topology: str | None  # libtpu's name; None for this CPU
    config: str  # libtpu's chip_config_name
    slices: int
    axlearn: str | None  # AXLearn's name


TARGETS = {
    "cpu": Target(None, "", 1, None),
    "v5e-16": Target("v5e:4x4", "default", 1, "v5e-16"),
    "v4-8": Target("v4:2x2x1", "megacore", 1, "v4-8"),
    "v5p-8": Target("v5:2x2x1", "megacore", 1, "v5p-8"),
    "v5p-64": Target("v5:2x4x4", "megacore", 1, "v5p-64"),
    "v6e-8": Target("v6e:2x4", "default", 1, "v6e-8"),
    "7x-8": Target("tpu7x:2x2x1", "default", 1, "7x-8"),
    "v5e-16x2": Target("v5e:4x4", "default", 2, "v5e-16"),
}

AXES = ("pipeline", "data", "expert", "fsdp", "seq", "model")
BATCH = 16  # rows a slice
LENGTH = 64  # width of prompts and of rows


def counts(compiled):
    """What XLA counts of a program that JAX compiled."""
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    return {"temp_bytes": compiled.memory_analysis().temp_size_in_bytes, "flops": cost.get("flops")}
