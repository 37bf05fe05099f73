// SPDX-License-Identifier: Apache-2.0

/**
 * StableHLO from Java: build, print, parse and verify without MLIR.
 *
 * <h2>Building</h2>
 *
 * {@snippet :
 * Module module = Module.build("example", m -> {
 *     m.mesh("mesh", Map.of("data", 8));
 *     m.function("main", f -> {
 *         Value x = f.argument(
 *                 TensorType.of(ElementType.F32, 16, 128),
 *                 TensorSharding.of("mesh", TensorSharding.axes("data"), TensorSharding.axes()));
 *         Value w = f.argument(TensorType.of(ElementType.F32, 128, 64));
 *         Value y = f.dotGeneral(x, w, DotDimensionNumbers.contracting(1, 0), ElementType.F32);
 *         f.returns(f.logistic(y));
 *     });
 * });
 * }
 *
 * <p>Builders are passed to lambdas and are good only within them, so that nothing half-built escapes; what comes out is
 * immutable. Every operation is verified as it is built: a wrong shape fails at the call, with the operation, the operand
 * and the rule in the message.
 *
 * <h2>What is what</h2>
 *
 * <table>
 * <caption>The parts of a module</caption>
 * <tr><th>Java</th><th>MLIR</th></tr>
 * <tr><td>{@link dev.slipway.stablehlo.Module}, {@link dev.slipway.stablehlo.Function}</td><td>{@code builtin.module}, {@code func.func}</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.Operation}</td><td>an operation of any dialect</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.Value}, {@link dev.slipway.stablehlo.Type}</td><td>an SSA value and its type</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.Attribute}</td><td>an attribute; those of StableHLO, CHLO and Shardy are records</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.OpDefinition}</td><td>a row of the op table</td></tr>
 * </table>
 *
 * <h2>Limits</h2>
 *
 * <p>Text and bytecode may come from anybody. Whatever they hold, {@link dev.slipway.stablehlo.Module#parse(String)} and
 * {@link dev.slipway.stablehlo.Module#fromBytecode} give a module or throw the exception below, in time and memory that
 * grow with the input:
 *
 * <table>
 * <caption>What is refused</caption>
 * <tr><th>Limit</th><th>Why</th></tr>
 * <tr><td>128 levels of regions, types, attributes and locations within each other, aliases and shared entries of bytecode
 * unfolded</td><td>reading, printing, comparing and hashing recurse; this depth fits half of the stack that a thread has by default</td></tr>
 * <tr><td>1,048,576 parts and 64 more for each byte of input, where attributes and types that are used again count
 * each time</td><td>a few bytes can name something made of two of something made of two ...</td></tr>
 * <tr><td>counts and lengths in bytecode that the bytes left cannot hold; values of regions that no byte defines</td>
 * <td>memory is taken for what the input holds, never for what it says</td></tr>
 * <tr><td>1,048,576 results of an operation under one name</td><td>the same</td></tr>
 * </table>
 *
 * <p>An attribute that is shared stays shared in memory, but not in text: printing may write a large constant as often as
 * operations use it; {@link dev.slipway.stablehlo.PrintOptions} elides it.
 *
 * <h2>Errors</h2>
 *
 * <table>
 * <caption>All are unchecked and extend {@link dev.slipway.stablehlo.IrException}</caption>
 * <tr><th>Exception</th><th>When</th></tr>
 * <tr><td>{@link dev.slipway.stablehlo.VerificationException}</td><td>an operation breaks a rule</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.ParseException}</td><td>a text is not a module</td></tr>
 * <tr><td>{@link dev.slipway.stablehlo.BytecodeException}</td><td>bytes are not a module, or of a version that is not understood</td></tr>
 * </table>
 *
 * <p>docs/conformance.md says how this was held to StableHLO's own tests and to the plugins, and what does not hold.
 */
package dev.slipway.stablehlo;
