# SPDX-License-Identifier: Apache-2.0
"""SmolLM2 decoded greedily by JAX on this CPU in float32, in the form that is fastest for JAX: each layer by itself.

usage: decode_jax.py GGUF PROMPT NEW [--scan]
"""

import json
import sys
import time

import jax

jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp
import numpy as np

import jax_decoder
from gguf import GGUFReader
from gguf.quants import dequantize
from models import MODELS


def halves(weights, heads):
    """Rows of q and k from GGUF's interleaved pairs to halves."""
    rows, columns = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def load(path, m):
    tensors = {t.name: dequantize(t.data, t.tensor_type).reshape([int(n) for n in reversed(t.shape)])
               for t in GGUFReader(path).tensors}
    layers = []
    for i in range(m.layers):
        of = lambda name, i=i: tensors[f"blk.{i}.{name}.weight"].astype(np.float32)
        layers.append({
            "attention_norm": of("attn_norm"),
            "q": halves(of("attn_q"), m.heads).reshape(m.heads, m.head_dim, m.width),
            "k": halves(of("attn_k"), m.kv_heads).reshape(m.kv_heads, m.head_dim, m.width),
            "v": of("attn_v").reshape(m.kv_heads, m.head_dim, m.width),
            "o": of("attn_output").reshape(m.width, m.heads, m.head_dim),
            "feed_forward_norm": of("ffn_norm"),
            "gate": of("ffn_gate"),
            "up": of("ffn_up"),
            "down": of("ffn_down"),
        })
    return {"embedding": tensors["token_embd.weight"].astype(np.float32),
            "final_norm": tensors["output_norm.weight"].astype(np.float32),
            "layers": layers}


def main():
    path, prompt, new = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    scan = "--scan" in sys.argv
    m = MODELS["smollm2-135m"]
    params = load(path, m)
    if scan:
        params["layers"] = jax.tree.map(lambda *w: np.stack(w), *params["layers"])
    params = jax.device_put(params)
    length = prompt + new
    ids = jnp.asarray([[1 + i % 200 for i in range(prompt)]], jnp.int32)

    @jax.jit
    def prefill(params, ids):
        cache = jax_decoder.empty_cache(m, 1, length, jnp.float32, scan)
        x, cache = jax_decoder.forward(m, params, cache, ids, jnp.arange(prompt)[None], None, scan)
        return jnp.argmax(jax_decoder.logits(m, params, x[:, -1]), -1).astype(jnp.int32), cache

    def step(params, token, at, cache):
        x, cache = jax_decoder.forward(m, params, cache, token[:, None], at[:, None], at, scan)
        return jnp.argmax(jax_decoder.logits(m, params, x[:, 0]), -1).astype(jnp.int32), cache

    step = jax.jit(step, donate_argnums=3)
    start = time.perf_counter()
    jax.block_until_ready(prefill(params, ids))
    token, cache = prefill(params, ids)
    step(params, token, jnp.asarray([prompt]), cache)[0].block_until_ready()
    compile_s = time.perf_counter() - start

    start = time.perf_counter()
    token, cache = prefill(params, ids)
    tokens = [int(token[0])]
    prefill_s = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(new - 1):
        token, cache = step(params, token, jnp.asarray([prompt + i]), cache)
        tokens.append(int(token[0]))
    decode_s = time.perf_counter() - start
    print(json.dumps({
        "prefill_tokens_per_s": prompt / prefill_s,
        "decode_tokens_per_s": (new - 1) / decode_s,
        "compile_s": compile_s,
        "tokens": tokens[:32],
        "versions": {"jax": jax.__version__},
    }))


main()
