// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Where reports go, with what a writer keeps to itself: that they did not arrive. */
final class Stdout extends OutputStream {
    private final OutputStream to;
    private @Nullable IOException failure;

    Stdout(OutputStream to) {
        this.to = to;
    }

    PrintWriter writer() {
        return new PrintWriter(this, true, StandardCharsets.UTF_8);
    }

    /**
     * The exit code of a command, once all is written: 1 where a report was lost. Said to {@code err}, but for a reader that has
     * had enough, as {@code head}.
     */
    int code(int code, PrintWriter err) {
        if (failure == null) {
            return code;
        }
        String reason = String.valueOf(failure.getMessage());
        if (!reason.equals("Broken pipe")) {
            err.println("slipway: cannot write to standard output: " + reason
                    + "; the report is lost, so give it a place where there is room, and run again");
            err.flush();
        }
        return Math.max(1, code);
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
            to.write(bytes, offset, length);
        } catch (IOException e) {
            failure = e;
            throw e;
        }
    }
}
