# SPDX-License-Identifier: Apache-2.0
"""Times jax.experimental.mesh_utils on the machines of MeshBenchmark, and prints one JSON object a line.

Devices are plain objects with the attributes that mesh_utils reads, which is the cheapest a device can be. The digest is
that of the device ids in mesh order, as MeshBenchmark prints it: equal digests mean equal meshes.

usage: jax_mesh.py SLICES ICI DCN NAME=XxYxZ...
"""

import json
import sys
import time
import zlib

import jax
from jax.experimental import mesh_utils


class Device:
    __slots__ = ("id", "process_index", "coords", "core_on_chip", "slice_index", "device_kind", "platform")


def devices(extent, slices):
    """The devices of v5p slices in libtpu's order: hosts of 2x2x1 chips, one device a chip."""
    x_size, y_size, z_size = extent
    listed = []
    for s in range(slices):
        host = s * x_size * y_size * z_size // 4
        for z in range(z_size):
            for hy in range(0, y_size, 2):
                for hx in range(0, x_size, 2):
                    for y in (hy, hy + 1):
                        for x in (hx, hx + 1):
                            d = Device()
                            d.id = (s + 1) * 100000 + (z * y_size + y) * x_size + x
                            d.process_index = host
                            d.coords = (x, y, z)
                            d.core_on_chip = 0
                            d.slice_index = s
                            d.device_kind = "TPU v5"
                            d.platform = "tpu"
                            listed.append(d)
                    host += 1
    return listed


def main():
    slices = int(sys.argv[1])
    for machine in sys.argv[4:]:
        name, shape = machine.split("=")
        extent = [int(e) for e in shape.split("x")]
        per_slice = extent[0] * extent[1] * extent[2]
        ici = [int(e) for e in sys.argv[2].split(",")]
        dcn = [int(e) for e in sys.argv[3].split(",")]
        known = 1
        for size in ici:
            known *= size if size > 0 else 1
        ici = [per_slice // known if size == -1 else size for size in ici]
        listed = devices(extent, slices)
        best = float("inf")
        for _ in range(7):
            start = time.perf_counter()
            mesh = mesh_utils.create_hybrid_device_mesh(ici, dcn, listed, allow_split_physical_axes=True)
            best = min(best, time.perf_counter() - start)
        ids = b"".join(d.id.to_bytes(4, "big") for d in mesh.flatten())
        print(json.dumps({
            "machine": name, "devices": len(listed), "jax": jax.__version__,
            "milliseconds": best * 1e3, "digest": "%08x" % zlib.crc32(ids)}), flush=True)


main()
