# SPDX-License-Identifier: Apache-2.0
"""Times what RuntimeBenchmark times, through jaxlib and through pypjrt, and prints one JSON object.

usage: runtime_rivals.py jaxlib | pypjrt LIBRARY
"""

import array
import json
import sys
import time


def nanoseconds(call, seconds=2.0):
    """Best of five batches of a call, in nanoseconds a call."""
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - begin
        if took > seconds / 10:
            break
        count *= 2
    best = took
    for _ in range(4):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / count * 1e9


def jaxlib():
    import jax
    import numpy as np

    device = jax.devices("cpu")[0]
    x = jax.device_put(np.ones(8, np.float32), device)
    compiled = jax.jit(lambda v: v + v).lower(x).compile()
    jitted = jax.jit(lambda v: v + v)
    jitted(x).block_until_ready()
    block = np.zeros(64 << 20, np.uint8)
    large = jax.device_put(block, device)

    def to_device():
        jax.device_put(block, device, may_alias=False).block_until_ready()

    def to_host():
        np.array(large, copy=True)

    return {
        "version": jax.__version__,
        "dispatch_jit": nanoseconds(lambda: jitted(x).block_until_ready()),
        "dispatch_compiled": nanoseconds(lambda: compiled(x).block_until_ready()),
        "no_op_call": nanoseconds(x.is_ready),
        "host_to_device_kib": nanoseconds(to_device) / (64 << 10),
        "device_to_host_kib": nanoseconds(to_host) / (64 << 10),
    }


def pypjrt(library):
    import pypjrt

    program = """
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = stablehlo.add %x, %x : tensor<8xf32>
      return %y : tensor<8xf32>
    }
    """
    F32 = 11  # PJRT_Buffer_Type_F32
    client = pypjrt.Client.create(library)
    executable = client.compile(program)
    with client.devices() as devices:
        x = client.buffer_from_host(array.array("f", [1.0] * 8), F32, [8], devices[0])
    out = bytearray(32)

    def dispatch():
        for result in executable(x):
            result.to_host(out)
            result.close()

    return {"version": getattr(pypjrt, "__version__", "?"), "dispatch": nanoseconds(dispatch)}


print(json.dumps(jaxlib() if sys.argv[1] == "jaxlib" else pypjrt(sys.argv[2])))
