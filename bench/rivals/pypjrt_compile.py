# SPDX-License-Identifier: Apache-2.0
"""Compiles a module that Slipway lowered through pypjrt, a PJRT binding for Python, and prints one JSON object.

usage: pypjrt_compile.py LIBRARY MODULE TARGET

pypjrt has no models: its row is a whole process without any lowering.
"""

import time

started = time.perf_counter()

import json
import os
import sys

os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"

import pypjrt
from pypjrt.compile_options import CompileOptions
from pypjrt.topology import Topology

from models import TARGETS


def main():
    library, path, target = sys.argv[1], sys.argv[2], TARGETS[sys.argv[3]]
    with open(path) as module:
        text = module.read()
    plugin = pypjrt.Plugin(library)
    plugin.initialize()
    topology = Topology.create(plugin, target.topology, options={
        "chip_config_name": target.config, "num_slices": target.slices})
    devices = len(topology.device_descriptions())
    options = CompileOptions(num_partitions=devices, use_spmd_partitioning=True, use_shardy_partitioner=True)
    located = time.perf_counter()
    executable = topology.compile(text, options=options)
    compiled = time.perf_counter()
    print(json.dumps({
        "before_s": located - started,
        "compile_s": compiled - located,
        "module_bytes": len(text),
        "executable_bytes": len(executable),
    }))


main()
