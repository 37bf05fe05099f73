// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.internal;

import dev.slipway.topology.Accelerator;
import dev.slipway.topology.Bounds;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.GpuTarget;
import dev.slipway.topology.InvalidTopologyException;
import dev.slipway.topology.Topology;
import dev.slipway.topology.Wrap;
import dev.slipway.topology.json.JsonFault;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Machines and chips as JSON, in both directions. */
public final class TopologyJson {
    private static final Set<String> TOPOLOGY_FIELDS = Set.of("name", "chip", "slices", "slice", "host", "wrap");

    /** A user's chip may be copied from the catalogue, where these say more of it. */
    private static final List<String> PLACE_IN_CATALOGUE =
            List.of("aliases", "shapes", "cubes", "extra_shapes", "wrap");

    /** Made when there is a text to read or write: the catalogue, which every start reads, is in Java by then. */
    private static final class Text {
        static final JsonMapper MAPPER = new JsonMapper();
    }

    private TopologyJson() {}

    /**
     * The machine that a text describes.
     *
     * @throws InvalidTopologyException if the text is no JSON, or describes no possible machine
     */
    public static Topology read(String json) {
        Object document;
        try {
            document = Text.MAPPER.readValue(json, Object.class);
        } catch (JacksonException e) {
            throw new InvalidTopologyException("A machine's description is not JSON (" + JsonFault.of(e) + ")");
        }
        JsonFields fields = JsonFields.of(document, "topology");
        fields.allowOnly(TOPOLOGY_FIELDS);
        ChipSpec chip = fields.get("chip") instanceof String name
                ? ChipCatalogue.get().entry(name).chip()
                : readUsersChip(JsonFields.of(fields.get("chip"), "chip"));
        Bounds slice = bounds(fields.integers("slice", 3));
        Bounds host = bounds(fields.integers("host", 3));
        Wrap wrap = Wrap.NONE;
        if (fields.has("wrap")) {
            List<Boolean> w = fields.booleans("wrap", 3);
            wrap = new Wrap(w.get(0), w.get(1), w.get(2));
        }
        return new Topology(fields.text("name"), chip, fields.integer("slices", 1), slice, host, wrap);
    }

    public static String write(Topology topology) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.put("name", topology.name());
        ChipCatalogue.Entry known =
                ChipCatalogue.get().entries().get(topology.chip().name());
        if (known != null && known.chip().equals(topology.chip())) {
            root.put("chip", topology.chip().name());
        } else {
            root.set("chip", writeChip(topology.chip()));
        }
        root.put("slices", topology.slices());
        putAll(root.putArray("slice"), topology.slice().toList());
        putAll(root.putArray("host"), topology.host().toList());
        ArrayNode wrap = root.putArray("wrap");
        topology.wrap().toList().forEach(wrap::add);
        return Text.MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(root);
    }

    /** A value as JSON, for messages. */
    static String text(@Nullable Object value) {
        return Text.MAPPER.writeValueAsString(value);
    }

    /** A chip whose every field must be known: a misspelt figure would count as one that is not published. */
    private static ChipSpec readUsersChip(JsonFields fields) {
        ChipSpec chip = readChip(fields.object());
        ObjectNode known = writeChip(chip);
        fields.allowOnly(names(known));
        String platform = chip.platform().id();
        Set<String> ofPlatform = names(known.get(platform));
        ofPlatform.addAll(PLACE_IN_CATALOGUE);
        fields.object(platform).allowOnly(ofPlatform);
        return chip;
    }

    private static Set<String> names(JsonNode object) {
        return new TreeSet<>(object.propertyNames());
    }

    static ChipSpec readChip(Object document) {
        JsonFields f = JsonFields.of(document, "chip");
        String name = f.text("name");
        String kind = f.text("device_kind");
        return new ChipSpec(
                name,
                f.has("product") ? f.text("product") : name,
                kind,
                f.integer("year", 0),
                f.integer("cores", 1),
                f.integer("devices_per_chip", 1),
                f.longInteger("hbm_bytes", 0),
                f.number("hbm_bytes_per_second", 0),
                f.number("bf16_flops_per_second", 0),
                f.number("int8_ops_per_second", 0),
                f.number("fp8_flops_per_second", 0),
                f.integer("links", 0),
                f.number("link_bytes_per_second", 0),
                f.number("dcn_bytes_per_second_per_host", 0),
                f.texts("sources"),
                readAccelerator(f, kind));
    }

    private static Accelerator readAccelerator(JsonFields chip, String kind) {
        if (chip.has("tpu")) {
            JsonFields t = chip.object("tpu");
            return new Accelerator.Tpu(
                    t.text("libtpu_name"),
                    t.text("chip_config"),
                    t.integer("torus_rank"),
                    t.integer("name_units_per_chip", 1));
        }
        if (chip.has("gpu")) {
            JsonFields g = chip.object("gpu");
            GpuTarget target = new GpuTarget(
                    kind,
                    g.text("capability"),
                    chip.integer("cores"),
                    g.integer("fpus_per_core"),
                    g.number("clock_ghz", 0),
                    chip.longInteger("hbm_bytes", 0),
                    (long) chip.number("hbm_bytes_per_second", 0),
                    g.longInteger("l2_bytes", 0),
                    g.integer("shared_bytes_per_core"),
                    g.integer("shared_bytes_per_block", 49152),
                    g.integer("shared_bytes_per_block_optin"),
                    g.integer("threads_per_core", 2048),
                    g.integer("threads_per_warp", 32),
                    g.integer("registers_per_core", 65536),
                    g.number("matrix_clock_ghz", 0),
                    g.integer("matrix_half_ops_per_clock", 0),
                    g.integer("active_links", 0));
            return new Accelerator.Gpu(target, g.integer("devices_per_host"), g.integer("hosts_per_domain", 1));
        }
        if (chip.has("cpu")) {
            return new Accelerator.Cpu();
        }
        throw new InvalidTopologyException("A chip needs one of the fields \"tpu\", \"gpu\" and \"cpu\"");
    }

    /** The chip as {@code chips.json} spells it, without its place in the catalogue. */
    public static ObjectNode writeChip(ChipSpec chip) {
        ObjectNode out = JsonNodeFactory.instance.objectNode();
        out.put("name", chip.name());
        out.put("product", chip.product());
        out.put("device_kind", chip.deviceKind());
        out.put("year", chip.year());
        out.put("cores", chip.cores());
        out.put("devices_per_chip", chip.devicesPerChip());
        out.put("hbm_bytes", chip.hbmBytes());
        out.put("hbm_bytes_per_second", chip.hbmBytesPerSecond());
        out.put("bf16_flops_per_second", chip.bf16FlopsPerSecond());
        out.put("int8_ops_per_second", chip.int8OpsPerSecond());
        out.put("fp8_flops_per_second", chip.fp8FlopsPerSecond());
        out.put("links", chip.links());
        out.put("link_bytes_per_second", chip.linkBytesPerSecond());
        out.put("dcn_bytes_per_second_per_host", chip.dcnBytesPerSecondPerHost());
        ArrayNode sources = out.putArray("sources");
        chip.sources().forEach(sources::add);
        switch (chip.accelerator()) {
            case Accelerator.Tpu tpu ->
                out.putObject("tpu")
                        .put("libtpu_name", tpu.libtpuName())
                        .put("chip_config", tpu.chipConfig())
                        .put("torus_rank", tpu.torusRank())
                        .put("name_units_per_chip", tpu.nameUnitsPerChip());
            case Accelerator.Gpu gpu -> {
                GpuTarget t = gpu.target();
                out.putObject("gpu")
                        .put("capability", t.capability())
                        .put("fpus_per_core", t.fpusPerCore())
                        .put("clock_ghz", t.clockGhz())
                        .put("l2_bytes", t.l2Bytes())
                        .put("shared_bytes_per_core", t.sharedBytesPerCore())
                        .put("shared_bytes_per_block", t.sharedBytesPerBlock())
                        .put("shared_bytes_per_block_optin", t.sharedBytesPerBlockOptIn())
                        .put("threads_per_core", t.threadsPerCore())
                        .put("threads_per_warp", t.threadsPerWarp())
                        .put("registers_per_core", t.registersPerCore())
                        .put("matrix_clock_ghz", t.matrixClockGhz())
                        .put("matrix_half_ops_per_clock", t.matrixHalfOpsPerClock())
                        .put("active_links", t.activeLinks())
                        .put("devices_per_host", gpu.devicesPerHost())
                        .put("hosts_per_domain", gpu.hostsPerDomain());
            }
            case Accelerator.Cpu _ -> out.putObject("cpu");
        }
        return out;
    }

    private static Bounds bounds(List<Integer> extents) {
        return new Bounds(extents.get(0), extents.get(1), extents.get(2));
    }

    private static void putAll(ArrayNode array, List<Integer> values) {
        values.forEach(array::add);
    }
}
