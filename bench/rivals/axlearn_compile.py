# SPDX-License-Identifier: Apache-2.0
"""Runs AXLearn's own compile_inference_programs, unmodified, and prints one JSON object.

usage: axlearn_compile.py REPOSITORY MODEL TARGET

Times of the steps are taken by wrapping the functions that it calls. Needs Python 3.12.
"""

import time

started = time.perf_counter()

import json
import os
import resource
import sys

os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
sys.path.insert(0, sys.argv[1])

import jax

jax_imported = time.perf_counter()

import jax.numpy as jnp
from axlearn.common import aot_compilation, inference, utils, utils_spmd
from axlearn.common.inference import InferenceRunner
from axlearn.common.utils import HybridMeshShape, TensorSpec
from axlearn.common.config import get_named_trainer_config
from axlearn.experiments.text.gpt import fuji
from jax.sharding import PartitionSpec as P

from models import AXES, BATCH, LENGTH, MODELS, TARGETS, counts

imported = time.perf_counter()


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def trainer_config(model):
    """The named configuration, or fuji's with the sizes of a model that AXLearn has no name for."""
    named = lambda name: get_named_trainer_config(name, config_module="axlearn.experiments.text.gpt.c4_trainer")()
    if model.axlearn != "tiny":
        return named(model.axlearn)
    config = named("fuji-1B-v3")
    config.model.decoder = fuji.model_config(
        num_layers=model.layers, hidden_dim=model.width, num_heads=model.heads, num_kv_heads=model.kv_heads,
        ffn_dim=model.hidden, vocab_size=model.vocabulary, rope_theta=model.theta, shared_lm_head=model.tied,
        pad_token_id=0, eos_token_id=1).decoder
    return config


def main():
    model, target = MODELS[sys.argv[2]], TARGETS[sys.argv[3]]
    utils_spmd.setup(jax_backend="cpu")
    config = trainer_config(model)
    runner = InferenceRunner.config_from_trainer(config)
    shape = (1, 1, 1, -1, 1, 1)
    runner.mesh_axis_names = AXES
    runner.mesh_shape = (
        HybridMeshShape(ici_mesh_shape=shape, dcn_mesh_shape=(1, -1, 1, 1, 1, 1)) if target.slices > 1 else shape)
    runner.inference_dtype = jnp.bfloat16
    configured = time.perf_counter()

    times = {}

    def timed(owner, name, label):
        inner = getattr(owner, name)

        def wrapper(*args, **kwargs):
            wall, used = time.perf_counter(), cpu()
            try:
                return inner(*args, **kwargs)
            finally:
                times[label + "_s"] = times.get(label + "_s", 0) + time.perf_counter() - wall
                times[label + "_cpu_s"] = times.get(label + "_cpu_s", 0) + cpu() - used
                times[label + "_end"] = time.perf_counter()

        setattr(owner, name, wrapper)

    timed(aot_compilation, "get_devices_for_topology", "topology")
    timed(InferenceRunner, "create_method_runner", "runner")
    timed(jax.stages.Lowered, "compile", "compile")

    batch = BATCH * target.slices
    spec = {"prefix": TensorSpec(shape=(batch, LENGTH), dtype=jnp.int32)}
    begun = time.perf_counter()
    compiled = aot_compilation.compile_inference_programs(
        runner, input_batch_spec=spec, topology=target.axlearn, topology_num_slices=target.slices)["sample_decode"]
    ended = time.perf_counter()
    print(json.dumps({
        "before_s": configured - started,
        "import_s": imported - started,
        "config_s": configured - imported,
        "topology_s": times["topology_s"],
        # From the method runner's creation to the compiler: trace and lower.
        "lower_s": times["compile_end"] - times["compile_s"] - times["runner_end"],
        "compile_s": times["compile_s"],
        "compile_cpu_s": times["compile_cpu_s"],
        "call_s": ended - begun,
        **counts(compiled),
        "versions": {"jax": jax.__version__, "python": sys.version.split()[0]},
    }))


main()
