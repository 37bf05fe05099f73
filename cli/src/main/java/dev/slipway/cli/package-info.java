// SPDX-License-Identifier: Apache-2.0

/**
 * The {@code slipway} command.
 *
 * <table><caption>Commands, each a class</caption>
 * <tr><th>command</th><th>does</th><th>class</th></tr>
 * <tr><td>{@code demo}</td><td>the whole way once: a model to executables and to text</td><td>{@code DemoCommand}</td></tr>
 * <tr><td>{@code targets}</td><td>shows the machines there are, or one of them</td><td>{@code TargetsCommand}</td></tr>
 * <tr><td>{@code mesh}</td><td>lays a mesh on a machine, prices and draws it</td><td>{@code MeshCommand}, {@code
 *     MeshBatch}</td></tr>
 * <tr><td>{@code compile}</td><td>compiles a model's programs for machines</td><td>{@code CompileCommand}, {@code
 *     ProgramReport}, {@code Comparison}</td></tr>
 * <tr><td>{@code generate}</td><td>runs a model on this CPU</td><td>{@code GenerateCommand}, {@code Generation}, {@code
 *     GenerateBatch}</td></tr>
 * <tr><td>{@code plugins}</td><td>lists, installs and checks PJRT plugins</td><td>{@code PluginsCommand}</td></tr>
 * <tr><td>{@code module}</td><td>reads, verifies and converts StableHLO</td><td>{@code ModuleCommand}</td></tr>
 * </table>
 *
 * <p>What all commands keep to:
 *
 * <ul>
 *   <li>Stdout has what was asked for: a report, or with {@code --json} one document. Progress, logs and error messages
 *       go to stderr ({@code Output}, {@code Progress}, {@code Failures}).
 *   <li>The document of a command that failed is {@code {"error": {"type", "message", "exit_code"}}}; the type is the
 *       exception's name, {@code BadUsage}, or {@code ProcessEnded} where a plugin ended the JVM (the script
 *       {@code last-words} prints that one). What failed beside others, such as one machine of several or a case of a
 *       batch, has {@code {"error": {"type", "message"}}} in its place.
 *   <li>The exit code is 0 on success, 1 on failure and 2 on bad usage.
 *   <li>An error is one line that names the value, what was expected and a remedy; {@code -v} adds the stack trace.
 *   <li>Files are written whole or not at all, and refused before the work where that can be told ({@code OutFile}).
 *   <li>A plugin or model that is missing is fetched where it is needed ({@code PluginsOnDemand}); what plugins print stays
 *       away without {@code -v}.
 * </ul>
 *
 * <p>A new command is a {@code Callable<Integer>} with {@code Output} as a mixin and a row in {@code Main}. Start-up counts:
 * commands are made only when they are named, and {@code Training} says what the start-up cache is made from.
 */
package dev.slipway.cli;
