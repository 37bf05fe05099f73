// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.common.primitives.Bytes;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.ProgramGuards;
import dev.slipway.runtime.internal.abi.PJRT_Program;
import dev.slipway.runtime.internal.hlo.HloPrinter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.nio.charset.StandardCharsets;

/**
 * A program to compile, or what a compiler made of one: StableHLO as text or bytecode ({@code mlir}), or an HLO module as a
 * serialized proto ({@code hlo}, {@code hlo_with_config}).
 */
public final class Program {

    private static final byte[] BYTECODE = {'M', 'L', (byte) 0xef, 'R'};

    private final String format;
    private final byte[] code;

    private Program(String format, byte[] code) {
        this.format = format;
        this.code = code;
    }

    /**
     * StableHLO text.
     *
     * @throws UsageException.BadArgument if it is empty, or plugins would abort on it: a dynamic dimension without a bound, a
     *     private {@code @main}, a function that calls itself
     */
    public static Program stablehlo(String text) {
        if (text.isBlank()) {
            throw new UsageException.BadArgument("the program is empty: StableHLO text with a @main is needed");
        }
        ProgramGuards.check(text);
        return new Program("mlir", text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * StableHLO as MLIR bytecode, or its text in UTF-8.
     *
     * <p>Bytecode is not looked into: what {@link #stablehlo(String)} refuses in text may end the process where it comes as
     * bytecode. Of bytecode that is not your own make text first, with {@code Module.fromBytecode(bytes).toString()} of the
     * {@code stablehlo} module, or compile it in another process.
     *
     * @throws UsageException.BadArgument if it is empty, or text that {@link #stablehlo(String)} refuses
     */
    public static Program stablehlo(byte[] bytes) {
        if (startsWithBytecode(bytes)) {
            return new Program("mlir", bytes.clone());
        }
        return stablehlo(new String(bytes, StandardCharsets.UTF_8));
    }

    /** A program in a format of the plugin's, as {@code hlo}: the plugin checks it. */
    public static Program of(String format, byte[] code) {
        return new Program(format, code.clone());
    }

    private static boolean startsWithBytecode(byte[] bytes) {
        for (int i = 0; i < BYTECODE.length; i++) {
            if (i >= bytes.length || bytes[i] != BYTECODE[i]) {
                return false;
            }
        }
        return true;
    }

    /** {@code mlir}, {@code hlo} or {@code hlo_with_config}. */
    public String format() {
        return format;
    }

    /** The bytes. */
    public byte[] code() {
        return code.clone();
    }

    /**
     * The program as text: StableHLO as it was given, HLO as XLA writes it, with shapes, layouts and attributes and without source
     * locations.
     *
     * @throws UsageException.Unsupported if it is MLIR bytecode or of a format without a text
     */
    public String text() {
        return switch (format) {
            case "hlo" -> HloPrinter.ofModule(code);
            case "hlo_with_config" -> HloPrinter.ofModuleWithConfig(code);
            case "mlir" -> {
                if (startsWithBytecode(code)) {
                    throw new UsageException.Unsupported(
                            "MLIR bytecode has no text here: the stablehlo module reads it");
                }
                yield new String(code, StandardCharsets.UTF_8);
            }
            default -> throw new UsageException.Unsupported("a program in the format '" + format + "' has no text");
        };
    }

    /** How many bytes it has. */
    int size() {
        return code.length;
    }

    /** Whether its shardings are GSPMD's and none are Shardy's; the names stand in bytecode as they do in text. */
    boolean isGspmd() {
        return format.equals("mlir") && contains("mhlo.sharding") && !contains("sdy.");
    }

    private boolean contains(String name) {
        return Bytes.indexOf(code, name.getBytes(StandardCharsets.ISO_8859_1)) >= 0;
    }

    /** Refuses arrays that no CPU holds, where the program is text. */
    void checkSizes() {
        if (format.equals("mlir") && !startsWithBytecode(code)) {
            ProgramGuards.checkSizes(new String(code, StandardCharsets.UTF_8));
        }
    }

    MemorySegment write(SegmentAllocator allocator) {
        MemorySegment program = PJRT_Program.in(allocator);
        PJRT_Program.code(program, Native.bytes(allocator, code).address());
        PJRT_Program.code_size(program, code.length);
        PJRT_Program.format(program, Native.utf8(allocator, format).address());
        PJRT_Program.format_size(program, format.length());
        return program;
    }
}
