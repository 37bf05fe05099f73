// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PipPackage;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * One line on stderr that tells how far a step has come: redrawn in place on a terminal, printed once when it ends
 * elsewhere. Close it when the step is over, however it ended.
 */
final class Progress implements AutoCloseable {
    private static final int CELLS = 28;

    private final PrintWriter err;
    private final String label;
    private final boolean live;
    private final long started = System.nanoTime();
    private long drawn;
    private String last = "";

    private Progress(PrintWriter err, String label, boolean live) {
        this.err = err;
        this.label = label;
        this.live = live;
    }

    /** Begins a step. */
    static Progress begin(Output output, String label) {
        Progress progress = new Progress(output.err(), label, Terminal.current().coloured());
        progress.draw("", false);
        return progress;
    }

    /**
     * Tells how many bytes have come.
     *
     * @param total how many are expected; 0 where it is not known
     */
    synchronized void bytes(long done, long total) {
        String amount =
                total > 0 ? bar(done, total) + " " + megabytes(done) + " / " + megabytes(total) : megabytes(done);
        draw(amount + " MB", done >= total && total > 0);
    }

    /** Tells what the step is at. */
    synchronized void at(String detail) {
        draw(detail, true);
    }

    /** Tells how far the fetching of a package has come: a {@link PackageStore.Progress}. */
    void phase(PipPackage wheel, PackageStore.Phase phase, long done) {
        switch (phase) {
            case WAITING -> at("another process is fetching " + wheel.name());
            case FETCHING -> bytes(done, wheel.bytes());
            case CHECKING -> at("checking its SHA-256");
            case UNPACKING -> at("unpacking");
            case DONE -> bytes(wheel.bytes(), wheel.bytes());
        }
    }

    private void draw(String detail, boolean always) {
        last = detail;
        long now = System.nanoTime();
        if (live && (always || now - drawn > 80_000_000L)) {
            drawn = now;
            err.print("\r\033[K  " + label + "  " + detail);
            err.flush();
        }
    }

    /** How long the step has taken, in seconds. */
    double seconds() {
        return (System.nanoTime() - started) / 1e9;
    }

    @Override
    public synchronized void close() {
        String ended = "  " + label + "  " + last + "  " + Math.round(10 * seconds()) / 10.0 + " s";
        err.println(live ? "\r\033[K" + ended : ended);
        err.flush();
    }

    private static String bar(long done, long total) {
        int full = (int) Math.min(CELLS, CELLS * done / total);
        return "█".repeat(full) + "░".repeat(CELLS - full);
    }

    private static String megabytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f", bytes / 1e6);
    }
}
