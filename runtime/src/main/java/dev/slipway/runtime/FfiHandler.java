// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

/**
 * A custom call in Java: what a program runs for {@code stablehlo.custom_call @name(...) {api_version = 4}}.
 *
 * {@snippet :
 * plugin.registerHandler("java_square", "Host", call -> {
 *     MemorySegment x = call.arguments().getFirst().data();
 *     MemorySegment y = call.results().getFirst().data();
 *     for (long i = 0; i < call.arguments().getFirst().type().elements(); i++) {
 *         float v = x.getAtIndex(ValueLayout.JAVA_FLOAT, i);
 *         y.setAtIndex(ValueLayout.JAVA_FLOAT, i, v * v);
 *     }
 * });
 * }
 */
@FunctionalInterface
public interface FfiHandler {

    /**
     * Runs the call, on a thread of the plugin's. It may not wait for other work of the same client. What it throws becomes the
     * error of the program's run.
     */
    void call(Call call) throws Exception;

    /**
     * One call. Its memory ends with it.
     *
     * @param arguments in order; not to be written to
     * @param results in order; to be filled
     * @param attributes from the op's {@code mhlo.backend_config}: strings, numbers, booleans, arrays as {@code long[]},
     *     {@code int[]}, {@code float[]} and so on, and maps
     */
    record Call(List<Array> arguments, List<Array> results, Map<String, Object> attributes) {}

    /**
     * An array of a call.
     *
     * @param data dense, major to minor; on a device other than the CPU an address only
     */
    record Array(TensorType type, MemorySegment data) {}
}
