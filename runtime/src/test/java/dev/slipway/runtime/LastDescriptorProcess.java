// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Opens files until one descriptor is left, which a log's file takes, so that standard error cannot be kept. */
final class LastDescriptorProcess {
    private static final int RLIMIT_NOFILE = 7; // Linux's, on x86 and Arm

    private LastDescriptorProcess() {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        // Loads the classes that are needed below, when no file can be opened any more.
        capture(folder.resolve("log"));
        capture(folder.resolve("missing/log"));

        limitDescriptors(200);
        List<FileInputStream> open = new ArrayList<>();
        fill(open);
        open.removeLast().close();
        System.out.println(capture(folder.resolve("log")));
        System.out.println(fill(open) == 1 ? "still one descriptor" : "the descriptor is lost");
    }

    private static void limitDescriptors(long most) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocateFrom(ValueLayout.JAVA_LONG, most, most);
            Native.call(Native.libc("setrlimit"), RLIMIT_NOFILE, limits.address(), 0);
        }
    }

    /** What became of a log that is closed at once. */
    private static String capture(Path file) {
        try (PluginLog log = PluginLog.capture(file)) {
            return "captured to " + log.file();
        } catch (UncheckedIOException e) {
            return String.valueOf(e.getCause().getMessage());
        }
    }

    /** Opens as many files as can be, and says how many that were. */
    private static int fill(List<FileInputStream> open) {
        for (int count = 0; ; count++) {
            try {
                open.add(new FileInputStream("/dev/null"));
            } catch (IOException e) {
                return count;
            }
        }
    }
}
