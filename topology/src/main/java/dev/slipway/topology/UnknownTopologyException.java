// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.List;

/** No machine has this name; {@link #nearest()} has the names that are closest to it. */
public final class UnknownTopologyException extends TopologyException {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final transient List<String> nearest;

    public UnknownTopologyException(String name, List<String> nearest) {
        super("Unknown target \"" + name + "\": did you mean " + String.join(", ", nearest)
                + "? `slipway targets` shows what there is, and a TPU shape can be given in full, as in v5p:4x4x8");
        this.name = name;
        this.nearest = List.copyOf(nearest);
    }

    /** The name that was asked for. */
    public String name() {
        return name;
    }

    /** Up to three known names, closest first. */
    public List<String> nearest() {
        return nearest;
    }
}
