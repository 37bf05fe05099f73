// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.OptionalLong;

/**
 * What an executable needs of each device's memory, in bytes, as the compiler counted it.
 *
 * @param code the generated code
 * @param arguments the arguments
 * @param outputs the results
 * @param aliased results that lie where arguments lay
 * @param temporaries scratch
 * @param peak the most that is in use at once; empty for plugins before 0.72
 * @param host the same of the host's memory, where the program uses it
 */
public record MemoryStats(
        long code, long arguments, long outputs, long aliased, long temporaries, OptionalLong peak, Host host) {

    /** Bytes of host memory. */
    public record Host(long code, long arguments, long outputs, long aliased, long temporaries) {}

    /** Arguments, results that are not aliased, temporaries and code together, in bytes. */
    public long total() {
        return code + arguments + outputs - aliased + temporaries;
    }
}
