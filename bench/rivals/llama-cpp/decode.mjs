// SPDX-License-Identifier: Apache-2.0
// SmolLM2 decoded greedily by llama.cpp, from the quantised weights as they are in the file.
// usage: node decode.mjs GGUF PROMPT NEW [THREADS]
import os from "node:os";
import {getLlama} from "node-llama-cpp";

const [path, prompt, count, threads] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath: path});
const length = Number(prompt);
const wanted = Number(count);
const context = await model.createContext({
    contextSize: length + wanted + 8, threads: Number(threads ?? os.cpus().length), batchSize: length});
const ids = Array.from({length}, (_, i) => 1 + i % 200);

async function run() {
    const sequence = context.getSequence();
    const tokens = [];
    const start = performance.now();
    let first = start;
    for await (const token of sequence.evaluate(ids, {temperature: 0})) {
        if (tokens.length === 0) first = performance.now();
        tokens.push(token);
        if (tokens.length === wanted) break;
    }
    const end = performance.now();
    sequence.dispose();
    return {tokens, prefill: (first - start) / 1e3, decode: (end - first) / 1e3};
}

await run();
const {tokens, prefill, decode} = await run();
console.log(JSON.stringify({
    prefill_tokens_per_s: length / prefill,
    decode_tokens_per_s: (wanted - 1) / decode,
    tokens: tokens.slice(0, 32),
    versions: {"node-llama-cpp": "3.21.1", "llama.cpp": llama.llamaCppRelease?.release}
}));
process.exit(0);
