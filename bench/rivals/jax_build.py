# SPDX-License-Identifier: Apache-2.0
"""Traces and lowers a chain of additions with JAX, and prints one JSON object of seconds.

usage: jax_build.py OPS TIMES
"""

import json
import sys
import time

import jax

jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp


def main():
    ops, times = int(sys.argv[1]), int(sys.argv[2])
    argument = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    seconds = []
    for _ in range(times):
        jax.clear_caches()

        def chain(x):
            for _ in range(ops):
                x = jax.lax.add(x, x)
            return x

        begin = time.perf_counter()
        text = jax.jit(chain).lower(argument).as_text()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"build_s": seconds[times // 2:], "module_bytes": len(text)}))


main()
