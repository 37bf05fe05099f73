# SPDX-License-Identifier: Apache-2.0
"""Traces, lowers and compiles jax_decoder's program with JAX, and prints one JSON object.

usage: jax_compile.py MODEL TARGET [--warm N]    (with --warm, lowers N more times in the same process)

TPU_LIBRARY_PATH says which libtpu compiles, so that it can be the very one that Slipway uses.
"""

import time

started = time.perf_counter()

import json
import os
import resource
import sys

os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"

import jax

jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import jax_decoder
from models import AXES, BATCH, LENGTH, MODELS, TARGETS, counts

imported = time.perf_counter()


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def devices(target):
    if target.topology is None:
        return jax.devices()[:1]
    options = {"chip_config_name": target.config, "chips_per_host_bounds": (2, 2, 1), "num_slices": target.slices}
    return topologies.get_topology_desc(target.topology, "tpu", **options).devices


def main():
    model, target = MODELS[sys.argv[1]], TARGETS[sys.argv[2]]
    warm = int(sys.argv[sys.argv.index("--warm") + 1]) if "--warm" in sys.argv else 0
    listed = devices(target)
    # Slices are outermost on the data axis, and all devices of a slice on fsdp.
    mesh = Mesh(np.reshape(listed, (1, target.slices, 1, -1, 1, 1)), AXES)
    located = time.perf_counter()

    dtype = jnp.float32 if target.topology is None else jnp.bfloat16
    shapes, partitions = jax_decoder.parameter_specs(model, dtype)
    fits = lambda shape, spec: P(*(
        axis if axis is not None and size % mesh.shape[axis] == 0 else None for size, axis in zip(shape.shape, spec)))
    batch = BATCH * target.slices
    rows = ("data", "fsdp") if batch % (mesh.shape["data"] * mesh.shape["fsdp"]) == 0 else None
    place = lambda shape, spec: jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=NamedSharding(mesh, spec))
    arguments = (
        jax.tree.map(lambda s, p: place(s, fits(s, p)), shapes, partitions),
        place(jax.ShapeDtypeStruct((4,), jnp.uint32), P(None)),
        place(jax.ShapeDtypeStruct((batch, LENGTH), jnp.int32), P(rows, None)),
        place(jax.ShapeDtypeStruct((batch,), jnp.float32), P(rows)),
    )

    def lower():
        wall, used = time.perf_counter(), cpu()
        lowered = jax.jit(jax_decoder.sample_decode(model, LENGTH, dtype)).lower(*arguments)
        return lowered, time.perf_counter() - wall, cpu() - used

    lowered, lower_s, lower_cpu_s = lower()
    again = []
    for _ in range(warm):
        jax.clear_caches()
        again.append(lower()[1:])
    before, used = time.perf_counter(), cpu()
    compiled = lowered.compile()
    compile_s, compile_cpu_s = time.perf_counter() - before, cpu() - used
    text = lowered.as_text()
    print(json.dumps({
        "before_s": located - started,
        "import_s": imported - started,
        "topology_s": located - imported,
        "lower_s": lower_s,
        "lower_cpu_s": lower_cpu_s,
        "warm_lower_s": [wall for wall, _ in again],
        "warm_lower_cpu_s": [used for _, used in again],
        "compile_s": compile_s,
        "compile_cpu_s": compile_cpu_s,
        "module_bytes": len(text),
        "module_ops": text.count(" = "),
        **counts(compiled),
        "versions": {"jax": jax.__version__, "python": sys.version.split()[0]},
    }))


main()
