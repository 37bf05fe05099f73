# SPDX-License-Identifier: Apache-2.0
"""A Llama decoder in plain JAX, as one would write it: layers scanned, prefill in one pass, KV cache, a sampling while loop.

It does what Slipway's sample_decode does, on the same parameters, shapes and shardings, so that the two can be compared.
Weights are [out, in]; norms, rotary angles, softmax and logits are float32.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def parameter_specs(m, dtype):
    """Shapes and partition specs of the parameters: width over fsdp; heads, hidden and vocabulary over model."""

    def spec(*dims):
        return jax.ShapeDtypeStruct(tuple(size for size, _ in dims), dtype), P(*(axis for _, axis in dims))

    n, w = (m.layers, None), (m.width, "fsdp")
    h, k, d = (m.heads, "model"), (m.kv_heads, "model"), (m.head_dim, None)
    f, v = (m.hidden, "model"), (m.vocabulary, "model")
    specs = {
        "embedding": spec(v, w),
        "final_norm": spec(w),
        "layers": {
            "attention_norm": spec(n, w),
            "q": spec(n, h, d, w),
            "k": spec(n, k, d, w),
            "v": spec(n, k, d, w),
            "o": spec(n, w, h, d),
            "feed_forward_norm": spec(n, w),
            "gate": spec(n, f, w),
            "up": spec(n, f, w),
            "down": spec(n, w, f),
        },
    }
    if not m.tied:
        specs["head"] = spec(v, w)
    leaf = lambda x: isinstance(x, tuple)
    return jax.tree.map(lambda x: x[0], specs, is_leaf=leaf), jax.tree.map(lambda x: x[1], specs, is_leaf=leaf)


def norm(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-5) * scale.astype(jnp.float32)).astype(x.dtype)


def rotate(x, positions, theta):
    """Rotary embedding by halves. x: [batch, length, heads, head_dim]; positions: [batch, length]."""
    half = x.shape[-1] // 2
    angles = positions[..., None] * theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    cos, sin = jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]
    a, b = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def layer(m, x, w, cache, positions, start):
    """One layer over new positions; cache: (k, v), each [batch, max_length, kv_heads, head_dim]."""
    y = norm(x, w["attention_norm"])
    q = rotate(jnp.einsum("blw,hdw->blhd", y, w["q"]), positions, m.theta)
    k = rotate(jnp.einsum("blw,hdw->blhd", y, w["k"]), positions, m.theta)
    v = jnp.einsum("blw,hdw->blhd", y, w["v"])
    if start is None:  # prefill
        keys, values = (lax.dynamic_update_slice(c, n, (0, 0, 0, 0)) for c, n in zip(cache, (k, v)))
    else:  # each row at its own position
        rows = jnp.arange(x.shape[0])
        keys, values = (c.at[rows, start].set(n[:, 0]) for c, n in zip(cache, (k, v)))
    batch, length = x.shape[:2]
    q = q.reshape(batch, length, m.kv_heads, m.heads // m.kv_heads, m.head_dim)
    scores = jnp.einsum("blkgd,bskd->bkgls", q, keys, preferred_element_type=jnp.float32) * m.head_dim**-0.5
    seen = jnp.arange(keys.shape[1])[None, None] <= positions[:, :, None]
    scores = jnp.where(seen[:, None, None], scores, -1e30)
    weights = jax.nn.softmax(scores, -1).astype(x.dtype)
    attended = jnp.einsum("bkgls,bskd->blkgd", weights, values).reshape(batch, length, m.heads, m.head_dim)
    x = x + jnp.einsum("blhd,whd->blw", attended, w["o"])
    y = norm(x, w["feed_forward_norm"])
    gate = jax.nn.silu(jnp.einsum("blw,fw->blf", y, w["gate"]))
    return x + jnp.einsum("blf,wf->blw", gate * jnp.einsum("blw,fw->blf", y, w["up"]), w["down"]), (keys, values)


def forward(m, params, cache, tokens, positions, start, scan=True):
    """Logits-ready activations of new tokens, and the cache with them in it."""
    x = params["embedding"][tokens]
    if not scan:
        layers = [
            jax.tree.map(lambda w, i=i: w[i], params["layers"]) if not isinstance(params["layers"], list) else params["layers"][i]
            for i in range(m.layers)
        ]
        caches = []
        for w, c in zip(layers, cache):
            x, c = layer(m, x, w, c, positions, start)
            caches.append(c)
        return norm(x, params["final_norm"]), caches

    def body(x, each):
        w, c = each
        return layer(m, x, w, c, positions, start)

    x, cache = lax.scan(body, x, (params["layers"], cache))
    return norm(x, params["final_norm"]), cache


def logits(m, params, x):
    return jnp.einsum("bw,vw->bv", x, params.get("head", params["embedding"]), preferred_element_type=jnp.float32)


def empty_cache(m, batch, length, dtype, scan=True):
    shape = (batch, length, m.kv_heads, m.head_dim)
    if scan:
        return jnp.zeros((m.layers, *shape), dtype), jnp.zeros((m.layers, *shape), dtype)
    return [(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype)) for _ in range(m.layers)]


def sample_decode(m, length, dtype, sample=True):
    """The whole decode: (params, key uint32[4], prefix i32[B, P], temperature f32[B]) -> (key, sequences, scores)."""

    def choose(key, temperature, rows):
        scores = jax.nn.log_softmax(rows)
        if sample:
            key, draw = jax.random.split(key)
            drawn = jax.random.categorical(draw, rows / jnp.maximum(temperature, 1e-6)[:, None])
            token = jnp.where(temperature > 0, drawn, jnp.argmax(rows, -1)).astype(jnp.int32)
        else:
            token = jnp.argmax(rows, -1).astype(jnp.int32)
        return key, token, jnp.take_along_axis(scores, token[:, None], -1)[:, 0]

    def run(params, key, prefix, temperature):
        key = jax.random.wrap_key_data(key, impl="rbg")
        batch, width = prefix.shape
        lengths = jnp.maximum(jnp.sum(prefix >= 0, -1), 1)
        positions = jnp.broadcast_to(jnp.arange(width), prefix.shape)
        x, cache = forward(
            m, params, empty_cache(m, batch, length, dtype), jnp.maximum(prefix, 0), positions, None)
        rows = jnp.arange(batch)
        key, token, score = choose(key, temperature, logits(m, params, x[rows, lengths - 1]))
        sequences = jnp.full((batch, length), -1, jnp.int32)
        sequences = lax.dynamic_update_slice(sequences, jnp.where(positions < lengths[:, None], prefix, -1), (0, 0))
        scores = jnp.zeros((batch, length), jnp.float32)

        def unfinished(state):
            return jnp.any(state[0] < length)

        def step(state):
            at, key, token, score, sequences, scores, cache = state
            sequences = sequences.at[rows, at].set(token, mode="drop")
            scores = scores.at[rows, at].set(score, mode="drop")
            x, cache = forward(m, params, cache, token[:, None], at[:, None], at)
            key, token, score = choose(key, temperature, logits(m, params, x[:, 0]))
            return at + 1, key, token, score, sequences, scores, cache

        state = lengths.astype(jnp.int32), key, token, score, sequences, scores, cache
        _, key, _, _, sequences, scores, _ = lax.while_loop(unfinished, step, state)
        return jax.random.key_data(key), sequences[:, None], scores[:, None]

    return run
