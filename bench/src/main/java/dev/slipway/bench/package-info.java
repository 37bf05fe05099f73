// SPDX-License-Identifier: Apache-2.0

/**
 * What Slipway costs, measured so that anyone can repeat it: compile latency first. Everything starts from
 * {@code ./slipway-bench}, which builds when a source is newer than the last build; {@code docs/benchmarks.md} has what the
 * runs found. The package has no API for other modules.
 *
 * <table>
 * <caption>Which command answers which question</caption>
 * <tr><th>question<th>command<th>here</tr>
 * <tr><td>How long does a part of it take?<td>{@code jmh CLASS}, with JMH's options behind<td>classes {@code *Benchmark}</tr>
 * <tr><td>How does it stand beside others?<td>{@code compare}; {@code compare --quick} in minutes<td>{@code
 * bench/rivals} measures, {@link dev.slipway.bench.Report} makes tables and the page</tr>
 * <tr><td>How does it grow?<td>{@code growth [--compile] DIR}<td>{@link dev.slipway.bench.Growth}</tr>
 * <tr><td>Did a change make programs dearer?<td>{@code figures}; {@code figures --record} records anew<td>{@link
 * dev.slipway.bench.Figures}, held by {@code FiguresTest}</tr>
 * <tr><td>Do all benchmarks still run?<td>{@code smoke}<td>{@link dev.slipway.bench.Smoke}, held by {@code SmokeTest}</tr>
 * </table>
 *
 * <p>A session:
 *
 * {@snippet lang = "bash" :
 * ./slipway-bench jmh LoweringBenchmark -f 1 -p model=llama-3-8b -prof gc
 * ./slipway-bench compare --quick --out target/quick          # then open target/quick/results.html
 * ./slipway-bench growth --compile target/growth
 * ./slipway-bench figures --record && git diff bench/src/test/resources/figures.json
 * }
 *
 * <h2>How figures are taken</h2>
 *
 * <ul>
 *   <li>{@link dev.slipway.bench.Cases} names the models, machines, meshes and batches; {@code bench/rivals/models.py} has the
 *       same shapes for the rivals. JMH, the comparison, growth curves and recorded figures all take theirs from there, so that
 *       figures of different commands are of the same thing.
 *   <li>Machines are shared. JMH says CPU time beside wall time with {@code -prof dev.slipway.bench.CpuTime}; the comparison takes
 *       wall time, CPU time and peak memory of each process from outside, contenders by turns, and says the load it ran under;
 *       growth is of CPU time and allocated bytes; recorded figures hold no time at all.
 *   <li>Medians and ratios of medians have bootstrap intervals of 95 % ({@link dev.slipway.bench.Statistics}). With one round
 *       there is no interval to speak of, and {@code --quick} has three.
 *   <li>A contender that cannot do a case stands in the tables with the reason; none is left out.
 * </ul>
 *
 * <h2>To add something</h2>
 *
 * <p>A benchmark: a {@code public class XBenchmark} with JMH's annotations and its exact command in the Javadoc; {@code
 * SmokeTest} runs it on the parameters that {@link dev.slipway.bench.Smoke} makes small. A rival: a script in {@code bench/rivals}
 * that prints one line of JSON with the fields that {@link dev.slipway.bench.Report} knows, its pinned requirements, and one
 * function in {@code compare.py}. A recorded case: one entry in {@link dev.slipway.bench.Figures}, then {@code figures --record}.
 */
package dev.slipway.bench;
