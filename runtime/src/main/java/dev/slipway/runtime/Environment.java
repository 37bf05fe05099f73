// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * The C environment of this process, which plugins read when they load and which Java's {@code System.getenv} copied before.
 * Nothing here happens unless it is called.
 *
 * <table>
 * <caption>Names that matter</caption>
 * <tr><th>name<th>value<th>effect
 * <tr><td>{@code TPU_SKIP_MDS_QUERY}<td>{@code 1}<td>libtpu does not ask a cloud's metadata server about the machine
 * <tr><td>{@code ALLOW_MULTIPLE_LIBTPU_LOAD}<td>{@code 1}<td>libtpu does not take the machine-wide lock: several processes compile at once
 * <tr><td>{@code TPU_MIN_LOG_LEVEL}, {@code TF_CPP_MIN_LOG_LEVEL}<td>0 to 3<td>least severity that plugins log
 * <tr><td>{@code XLA_FLAGS}<td>{@code --xla_...}<td>XLA's debug options
 * </table>
 */
public final class Environment {

    /** What deviceless compilation for TPUs needs. */
    public static final Map<String, String> DEVICELESS_TPU =
            Map.of("TPU_SKIP_MDS_QUERY", "1", "ALLOW_MULTIPLE_LIBTPU_LOAD", "1");

    private static final MemorySegment SETENV = Native.libc("setenv");

    private Environment() {}

    /** Sets a variable of the C environment; plugins that are loaded already have read theirs. */
    public static void set(String name, String value) {
        if (name.isEmpty() || name.indexOf('=') >= 0 || name.indexOf('\0') >= 0 || value.indexOf('\0') >= 0) {
            throw new UsageException.BadArgument("'" + name + "' with value '" + value
                    + "' cannot stand in the C environment: no '=' in names, no NUL");
        }
        try (Arena arena = Arena.ofConfined()) {
            int result = (int) Native.call(
                    SETENV,
                    arena.allocateFrom(name).address(),
                    arena.allocateFrom(value).address(),
                    1);
            if (result != 0) {
                throw new IllegalStateException("setenv(" + name + ") failed");
            }
        }
    }

    /** Sets all of {@code variables}. */
    public static void set(Map<String, String> variables) {
        variables.forEach(Environment::set);
    }
}
