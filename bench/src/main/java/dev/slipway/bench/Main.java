// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import java.util.Arrays;

/** What {@code ./slipway-bench} starts: {@code jmh} and its arguments, or a measurement that JMH has no form for. */
public final class Main {
    private Main() {}

    /** Runs the command of the first argument. */
    public static void main(String[] args) throws Exception {
        String command = args.length == 0 ? "" : args[0];
        String[] rest = args.length == 0 ? args : Arrays.copyOfRange(args, 1, args.length);
        switch (command) {
            case "jmh" -> org.openjdk.jmh.Main.main(rest);
            case "smoke" -> Smoke.run();
            default -> {
                System.err.println("slipway-bench: no command '" + command + "'; there are jmh and smoke");
                System.exit(2);
            }
        }
    }
}
