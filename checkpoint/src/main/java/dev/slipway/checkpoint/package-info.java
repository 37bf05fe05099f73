// SPDX-License-Identifier: Apache-2.0

/**
 * Model files: what people have on disk, read as {@link dev.slipway.lowering.DecoderConfig what a decoder is} and {@link
 * dev.slipway.lowering.Parameters its weights}, with the tokenizer and chat template that go with them.
 *
 * {@snippet :
 * try (Checkpoint model = Checkpoint.open(Path.of("SmolLM2-135M-Instruct.Q4_1.gguf"));
 *         Arena arena = Arena.ofConfined()) {
 *     Tokenizer tokenizer = model.tokenizer().orElseThrow();
 *     String prompt = model.chatTemplate().orElseThrow().renderWithGenerationPrompt(List.of(new ChatTemplate.Message("user", "What is gravity?")));
 *     ImmutableIntArray ids = tokenizer.encode(prompt);
 *     MemorySegment queries = arena.allocate(4L * 576 * 576);
 *     model.read("layers/3/q/weight", queries, Dtype.F32);
 * }
 * }
 *
 * <p>A weight is handed out in the logical shape of {@code Parameters} whatever the file does to it: blocks of quantised
 * numbers are decoded, fused projections taken apart, transposed matrices turned, and rows of queries and keys that a file
 * has interleaved for its rotary embedding are put in the order of halves that the programs use.
 *
 * <table><caption>What is read</caption>
 * <tr><th>on disk</th><th>models</th><th>numbers</th></tr>
 * <tr><td>GGUF 2 and 3</td><td>llama (and Mistral, Mixtral, SmolLM), qwen2, qwen3, qwen3moe, gemma, gemma2, gemma3, phi3,
 *     starcoder2, gpt2, olmo2</td><td>F32, F16, BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS</td></tr>
 * <tr><td>Hugging Face folder: {@code config.json}, safetensors, sharded or not; or {@code config.json} alone</td>
 *     <td>llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, phi3, starcoder2, gpt2,
 *     olmo2, olmo3, smollm3, ministral</td><td>F64, F32, F16, BF16</td></tr>
 * <tr><td>AXLearn folder: {@code model.json}, {@code params.safetensors}</td><td>fuji and its like</td><td>the
 *     same</td></tr>
 * <tr><td>nothing: {@link dev.slipway.checkpoint.Presets}</td><td>Llama 3, fuji</td><td>no weights</td></tr>
 * </table>
 *
 * <p>Tokenizers are byte-level BPE and SentencePiece's BPE, from GGUF's metadata or {@code tokenizer.json}. Chat templates
 * are Jinja, of which the part is run that models' templates use.
 *
 * <p>Models with LongRoPE are offered up to the context that they were first made for, where they are exact, and those with
 * dynamic NTK scaling up to their {@code max_position_embeddings}, where it begins.
 *
 * <table><caption>Errors</caption>
 * <tr><th>type</th><th>when</th></tr>
 * <tr><td>{@link dev.slipway.checkpoint.CheckpointException}</td><td>a file is absent, cut off, damaged or contradicts
 *     itself; a weight's name is unknown; a template refuses a conversation</td></tr>
 * <tr><td>{@link dev.slipway.checkpoint.UnsupportedModelException}</td><td>a sound file asks for what is not there: an
 *     architecture, an encoding, a kind of tokenizer, a construct of a template</td></tr>
 * </table>
 *
 * <table><caption>Lifetimes</caption>
 * <tr><th>thing</th><th>lives</th><th>threads</th></tr>
 * <tr><td>{@link dev.slipway.checkpoint.Checkpoint}</td><td>until {@code close}</td><td>any, but for {@code close}</td></tr>
 * <tr><td>views from {@code mapped}</td><td>until the checkpoint's {@code close}</td><td>any</td></tr>
 * <tr><td>{@link dev.slipway.checkpoint.Tokenizer}, {@link dev.slipway.checkpoint.ChatTemplate}, configurations</td>
 *     <td>beyond {@code close}</td><td>any</td></tr>
 * <tr><td>{@link dev.slipway.checkpoint.Detokenizer}</td><td>one answer</td><td>one</td></tr>
 * </table>
 */
@NullMarked
package dev.slipway.checkpoint;

import org.jspecify.annotations.NullMarked;
