# SPDX-License-Identifier: Apache-2.0
"""Times MLIR's C++ through jaxlib's bindings and Slipway on the same modules by turns, and prints ratios.

usage: stablehlo_mlir.py ROUNDS FOLDER COMMAND...   (COMMAND starts Slipway's side, see StablehloPeer)
"""

import io
import os
import statistics
import subprocess
import sys
import time

from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import func, hlo

WARM_UPS = 8


def build(layers):
    """The program of StablehloBenchmark.program, by the bindings' builders."""
    matrix = ir.RankedTensorType.get([64, 64], ir.F32Type.get())
    column = ir.RankedTensorType.get([64], ir.F32Type.get())
    scalar = ir.RankedTensorType.get([], ir.F32Type.get())
    predicate = ir.RankedTensorType.get([64, 64], ir.IntegerType.get_signless(1))
    numbers = hlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=[],
        rhs_batching_dimensions=[],
        lhs_contracting_dimensions=[1],
        rhs_contracting_dimensions=[0],
    )
    less = hlo.ComparisonDirectionAttr.get("LT")
    axes = ir.DenseI64ArrayAttr.get([1])
    dims = ir.DenseI64ArrayAttr.get([0])
    f32 = ir.F32Type.get()
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ([matrix, matrix], [matrix]))
        block = function.add_entry_block()
        x, w = block.arguments
        with ir.InsertionPoint(block):
            for i in range(layers):
                product = hlo.dot_general(matrix, x, w, numbers)
                factor = hlo.constant(ir.DenseElementsAttr.get_splat(matrix, ir.FloatAttr.get(f32, 0.5 + 12 * i)))
                scaled = hlo.multiply(hlo.tanh(hlo.add(product, x)), factor)
                lowest = hlo.constant(ir.DenseElementsAttr.get_splat(scalar, ir.FloatAttr.get(f32, float("-inf"))))
                reduce = hlo.ReduceOp([column], [scaled], [lowest], axes)
                reducer = reduce.regions[0].blocks.append(scalar, scalar)
                with ir.InsertionPoint(reducer):
                    hlo.return_([hlo.maximum(*reducer.arguments)])
                largest = hlo.broadcast_in_dim(matrix, reduce.result, dims)
                x = hlo.select(hlo.compare(scaled, largest, less), scaled, largest)
            func.return_([x])
    module.operation.verify()
    return module


def written(operation):
    out = io.BytesIO()
    operation.write_bytecode(out)
    return out


def printed(operation):
    out = io.BytesIO()
    operation.print(file=out, binary=True, assume_verified=True)
    return out


def main():
    rounds, folder = int(sys.argv[1]), sys.argv[2]
    peer = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    operations = peer.stdout.readline().split()
    context = mlir.make_ir_context()
    with context, ir.Location.unknown():
        small = ir.Module.parse(open(os.path.join(folder, "small.mlir")).read())
        text = open(os.path.join(folder, "large.mlir")).read()
        large = ir.Module.parse(text)
        bytecode = written(large.operation).getvalue()
        artifact = hlo.serialize_portable_artifact(large, "1.13.0")
        # Twelve operations a layer, besides the function and its return.
        layers = (int(operations[0]) - 2) // 12
        if printed(build(layers).operation).getvalue().count(b"\n") != printed(small.operation).getvalue().count(b"\n"):
            raise AssertionError("the module built here is not Slipway's")

        # The task, what Slipway calls it, and MLIR's side of it.
        tasks = [
            ("build (MLIR: clone, which neither infers nor checks)", "build", small.operation.clone),
            ("build (MLIR: by its Python builders)", "build", lambda: build(layers)),
            ("build and print (MLIR: by its Python builders)", "build and print", lambda: printed(build(layers).operation)),
            ("print", "print", lambda: printed(large.operation)),
            ("parse and verify", "parse and verify", lambda: ir.Module.parse(text)),
            ("write bytecode", "write bytecode", lambda: written(large.operation)),
            ("read bytecode and verify", "read bytecode and verify", lambda: ir.Module.parse(bytecode)),
            ("write artifact 1.13.0", "write artifact", lambda: hlo.serialize_portable_artifact(large, "1.13.0")),
            ("read artifact and verify", "read artifact and verify", lambda: hlo.deserialize_portable_artifact(context, artifact)),
        ]

        def ours(name):
            peer.stdin.write(name + "\n")
            peer.stdin.flush()
            return [float(each) for each in peer.stdout.readline().split()]

        def theirs(task):
            cpu, wall = time.process_time(), time.perf_counter()
            result = task()
            took = [time.perf_counter() - wall, time.process_time() - cpu]
            del result
            return took

        # Slipway's code is compiled while it runs; MLIR's came compiled.
        for _ in range(WARM_UPS):
            for name in dict.fromkeys(name for _, name, _ in tasks):
                ours(name)
        mine, other = [[] for _ in tasks], [[] for _ in tasks]
        loads = []
        for turn in range(rounds):
            for i, (_, name, task) in enumerate(tasks):
                loads.append(os.getloadavg()[0])
                for side in (0, 1) if turn % 2 else (1, 0):
                    (mine if side else other)[i].append(ours(name) if side else theirs(task))
    peer.stdin.close()
    peer.wait()

    def spread(values):
        quartiles = statistics.quantiles(values, n=4)
        return f"{1e3 * quartiles[1]:.1f} ({1e3 * quartiles[0]:.1f}-{1e3 * quartiles[2]:.1f})"

    print(f"{operations[0]} and {operations[1]} operations, {len(text) / 1e6:.1f} MB of text, {len(bytecode) / 1e6:.1f} MB of bytecode;")
    print(f"{rounds} rounds by turns, load of the machine {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores; median (quartiles) in ms")
    print("| task | MLIR, CPU | Slipway, CPU | ratio | MLIR, wall | Slipway, wall | ratio |")
    print("|---|---|---|---|---|---|---|")
    for (title, _, _), a, b in zip(tasks, other, mine):
        cells = []
        for column in (1, 0):
            left, right = [each[column] for each in a], [each[column] for each in b]
            # The JVM's clock of CPU time has steps of 10 ms: what took none took less than one.
            least = statistics.median(right) or 0.01
            more = "" if statistics.median(right) else "> "
            cells += [spread(left), spread(right), f"{more}{statistics.median(left) / least:.1f}"]
        print("| " + " | ".join([title] + cells) + " |")


main()
