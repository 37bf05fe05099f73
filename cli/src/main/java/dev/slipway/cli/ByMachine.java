// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.topology.Topology;
import java.util.LinkedHashMap;
import java.util.Map;

/** What JSON has of programs for machines: by machine and method, without the level of which there is one only. */
final class ByMachine {
    private final Map<String, Map<String, Object>> documents = new LinkedHashMap<>();

    /** @param method the program, as it was asked for */
    void put(Topology machine, String method, Object document) {
        documents
                .computeIfAbsent(Machines.title(machine), _ -> new LinkedHashMap<>())
                .put(method, document);
    }

    Object document() {
        Map<String, Object> unwrapped = new LinkedHashMap<>();
        documents.forEach((machine, methods) -> unwrapped.put(machine, only(methods)));
        return only(unwrapped);
    }

    private static Object only(Map<String, ?> map) {
        return map.size() == 1 ? map.values().iterator().next() : map;
    }
}
