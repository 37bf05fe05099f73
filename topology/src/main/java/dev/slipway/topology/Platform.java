// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.Locale;

/** The kinds of accelerator that a PJRT plugin serves. */
public enum Platform {
    TPU,
    GPU,
    CPU;

    /** The lower-case word that JSON and messages use: {@code tpu}, {@code gpu} or {@code cpu}. */
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
