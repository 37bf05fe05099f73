// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.HloPass;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PJRT_XlaTransform_Args;
import dev.slipway.runtime.internal.abi.PJRT_XlaTransform_Callbacks;
import dev.slipway.runtime.internal.abi.PJRT_XlaTransform_string;
import dev.slipway.runtime.internal.abi.PJRT_XlaTransform_version_and_error;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** A {@link HloPass} as the C struct of functions that the compiler calls. */
public final class HloPassUpcall {

    private static final long VERSION = 1;

    private final HloPass pass;

    private HloPassUpcall(HloPass pass) {
        this.pass = pass;
    }

    /** The struct; it lives as long as the process, since a compilation that has begun may call it after it was taken away. */
    public static MemorySegment callbacks(HloPass pass) {
        MemorySegment callbacks = PJRT_XlaTransform_Callbacks.in(Arena.global());
        PJRT_XlaTransform_Callbacks.version(callbacks, VERSION);
        PJRT_XlaTransform_Callbacks.transform_hlo_module(
                callbacks,
                Native.upcall(
                                MethodHandles.lookup(),
                                new HloPassUpcall(pass),
                                "transform",
                                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG))
                        .address());
        return callbacks;
    }

    @SuppressWarnings("unused") // called from C
    private void transform(long callbacks, long address) {
        MemorySegment args = Native.at(address, PJRT_XlaTransform_Args.LAYOUT.byteSize());
        try {
            MemorySegment module = PJRT_XlaTransform_Args.hlo_module(args);
            Optional<Program> changed = pass.run(Program.of(
                    "hlo", Native.bytes(PJRT_XlaTransform_string.data(module), PJRT_XlaTransform_string.size(module))));
            if (changed.isPresent()) {
                if (!changed.get().format().equals("hlo")) {
                    throw new UsageException.BadArgument("the pass gave back a program in the format '"
                            + changed.get().format() + "': a module in the format 'hlo' is needed");
                }
                hand(args, changed.get().code(), PJRT_XlaTransform_Args.transformed_hlo_module(args));
            }
            PJRT_XlaTransform_Args.changed(args, changed.isPresent());
        } catch (Throwable e) {
            // Nothing may be thrown into C: whatever comes is the compilation's error.
            MemorySegment header = PJRT_XlaTransform_Args.header(args);
            PJRT_XlaTransform_version_and_error.has_error(header, true);
            PJRT_XlaTransform_version_and_error.code(header, e instanceof StatusException status ? status.code() : 13);
            hand(
                    args,
                    String.valueOf(e).getBytes(StandardCharsets.UTF_8),
                    PJRT_XlaTransform_version_and_error.error_msg(header));
        }
    }

    /** Gives the compiler bytes, which it frees when it has read them. */
    private static void hand(MemorySegment args, byte[] bytes, MemorySegment string) {
        long block = Native.malloc(bytes);
        PJRT_XlaTransform_string.data(string, block);
        PJRT_XlaTransform_string.size(string, bytes.length);
        MemorySegment header = PJRT_XlaTransform_Args.header(args);
        PJRT_XlaTransform_version_and_error.data(header, block);
        PJRT_XlaTransform_version_and_error.cleanup_fn(header, Native.FREE.address());
    }
}
