# SPDX-License-Identifier: Apache-2.0
"""SmolLM2 decoded greedily by Hugging Face transformers and PyTorch on this CPU in float32.

usage: decode_transformers.py GGUF PROMPT NEW
"""

import json
import os
import sys
import time

import torch
import transformers

path, prompt, new = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = transformers.AutoModelForCausalLM.from_pretrained(
    os.path.dirname(path), gguf_file=os.path.basename(path), dtype=torch.float32).eval()
ids = torch.tensor([[1 + i % 200 for i in range(prompt)]])


@torch.inference_mode()
def run():
    start = time.perf_counter()
    out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
    token = out.logits[:, -1].argmax(-1, keepdim=True)
    tokens = [int(token)]
    prefill_s = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(new - 1):
        out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        token = out.logits[:, -1].argmax(-1, keepdim=True)
        tokens.append(int(token))
    return tokens, prefill_s, time.perf_counter() - start


best = None
for threads in (1, os.cpu_count()):
    torch.set_num_threads(threads)
    run_of = run()
    if best is None or run_of[2] < best[0][2]:
        best = run_of, threads
(tokens, prefill_s, decode_s), threads = best
print(json.dumps({
    "prefill_tokens_per_s": prompt / prefill_s,
    "decode_tokens_per_s": (new - 1) / decode_s,
    "threads": threads,
    "tokens": tokens[:32],
    "versions": {"transformers": transformers.__version__, "torch": torch.__version__},
}))
