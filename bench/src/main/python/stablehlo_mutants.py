# SPDX-License-Identifier: Apache-2.0
"""Changes StableHLO's positive test cases at random and asks MLIR's own verifier, through jaxlib, what it says of each.

usage: stablehlo_mutants.py CHECKOUT OUT SEED COUNT
writes OUT/SEED_NUMBER.ok.mlir and .bad.mlir, for 'slipway module --verify --json OUT' to be compared with.
MLIR ends with a signal on some: run it again with another seed.
"""
import glob
import random
import re
import sys

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo  # noqa: F401, registers its operations

checkout, out, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
context = jax_mlir.make_ir_context()
context.allow_unregistered_dialects = True
random.seed(seed)


def refusal(text):
    try:
        with context, ir.Location.unknown(context):
            ir.Module.parse(text, context)
        return None
    except Exception as error:  # MLIR's own, of several classes
        return str(error)


def generic(text):
    with context, ir.Location.unknown(context):
        return ir.Module.parse(text, context).operation.get_asm(print_generic_op_form=True)


def one(pattern, text):
    return random.choice(list(re.finditer(pattern, text)) or [None])


ELEMENT = r"(?<=[x<])(?:f32|i32|i64|f64|i1|f16|bf16|ui32|i8|i16|ui64|f8E4M3FN)(?=>)"
KINDS = [
    (r"(?<=[<x])\d+(?=x)", lambda text: random.choice("01235?7")),
    (r"(?<=[\[, :])-?\d+(?=[\],: ])", lambda text: random.choice(["0", "-1", "1", "2", "3", "4", "9"])),
    (ELEMENT, lambda text: random.choice(["f32", "i32", "i64", "f64", "i1", "ui8", "bf16", "complex<f32>", "i4"])),
    (r"tensor<[^<>]*>", lambda text: one(r"tensor<[^<>]*>", text).group()),
    (r"(?<=[\[, ])-?\d+, ", lambda text: ""),
    (r'"(?:stablehlo|chlo)\.[a-z_]+"', lambda text: one(r'"(?:stablehlo|chlo)\.[a-z_]+"', text).group()),
]

cases = []
for folder in ("tests", "tests/interpret"):
    for path in sorted(glob.glob(f"{checkout}/stablehlo/{folder}/*.mlir")):
        cases += re.split(r"^// -----.*$", open(path).read(), flags=re.M)
cases = [c for c in cases if "stablehlo" in c and "expected-error" not in c and "check." not in c and len(c) < 6000]
cases = [case for case in cases if refusal(case) is None]
cases += [generic(case) for case in cases]

written = 0
while written < count:
    case = random.choice(cases)
    pattern, replacement = random.choice(KINDS)
    place = one(pattern, case)
    if place is None:
        continue
    mutant = case[: place.start()] + replacement(case) + case[place.end() :]
    said = refusal(mutant)
    # Most would be refused for a value that is used with two types, which says little.
    if mutant == case or (said and "expects different type" in said):
        continue
    with open(f"{out}/{seed}_{written:05d}.{'bad' if said else 'ok'}.mlir", "w") as file:
        file.write(mutant)
    written += 1
