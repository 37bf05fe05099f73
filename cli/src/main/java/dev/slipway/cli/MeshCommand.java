// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.mesh.AxisCost;
import dev.slipway.mesh.DeviceOrder;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshPicture;
import dev.slipway.mesh.MeshShape;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code slipway mesh}: how axes lie on a machine, what they cost, and a picture of it. */
@Command(
        name = "mesh",
        mixinStandardHelpOptions = true,
        description = "Lays a mesh on a machine: device order, what each axis costs, and a picture.")
final class MeshCommand implements Callable<Integer> {
    private static final int DEFAULT_WIDTH = 120;
    private static final int DRAWN_DEVICES = 512;

    /** What a request of {@code --batch} says itself, or has no use for. */
    private static final List<String> OF_ONE_TARGET =
            List.of("--slices", "--axes", "--shape", "--ici", "--dcn", "--order", "--bytes", "--svg");

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec command;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "TARGET",
            description = "A machine, as `slipway targets` has it.")
    private @Nullable String target;

    @Mixin
    private final MeshOptions mesh = new MeshOptions();

    @Option(
            names = "--bytes",
            paramLabel = "N",
            defaultValue = "1048576",
            description = "Size of the array whose collectives are timed (1 MiB).")
    private double bytes;

    @Option(names = "--svg", paramLabel = "FILE", description = "Write the picture there.")
    private @Nullable Path svg;

    @Option(
            names = "--batch",
            paramLabel = "FILE",
            description = "Answer a JSON array of requests with a JSON array of device orders, in the same order.")
    private @Nullable Path batch;

    @Mixin
    private final Output output = new Output();

    @Override
    public Integer call() throws IOException {
        if (batch != null) {
            if (target != null) {
                throw misuse("--batch has its targets in the file: leave out \"" + target + "\"");
            }
            UnreadOptions.refuse(command, OF_ONE_TARGET, "is for a TARGET; a request of --batch has its own mesh");
            output.out().println(MeshBatch.answers(BatchFile.read(batch)));
            return 0;
        }
        if (target == null) {
            throw misuse("Which machine? Give a TARGET such as v5e-16, or --batch FILE");
        }
        if (!(bytes >= 1 && bytes <= Long.MAX_VALUE)) {
            throw misuse("--bytes " + bytes + ": a size from 1 byte to 2^63 was expected");
        }
        if (svg != null) {
            OutFile.refuse(svg);
        }
        Topology topology = mesh.topology(target);
        Mesh laid = mesh.mesh(topology);
        if (svg != null) {
            OutFile.write(svg, MeshPicture.of(laid).svg().getBytes(StandardCharsets.UTF_8));
        }
        if (output.json()) {
            output.document(describe(laid));
        } else {
            show(laid);
        }
        return 0;
    }

    private ParameterException misuse(String message) {
        return new ParameterException(command.commandLine(), message);
    }

    private void show(Mesh laid) {
        Terminal terminal = output.terminal();
        Topology topology = laid.topology();
        output.out().println();
        output.out()
                .println("  " + terminal.bold(Machines.title(topology)) + "   "
                        + terminal.bold(laid.toString())
                        + terminal.dim("   " + topology.deviceCount() + " devices, "
                                + mesh.order().name().toLowerCase(Locale.ROOT) + " order: "
                                + laid.rule().description()));
        output.out().println();
        for (String line : MeshPicture.of(laid).lines(width(), DRAWN_DEVICES, terminal::cyan)) {
            output.out().println("  " + line);
        }
        output.out().println();
        Table table = Table.of("axis", "size", "runs on", "hops", "ring", "all-gather", "all-reduce", "all-to-all");
        for (AxisCost cost : laid.axisCosts()) {
            table.row(
                    terminal.bold(cost.axis()),
                    cost.size(),
                    switch (cost.medium()) {
                        case NONE -> "-";
                        case ICI -> topology.platform().id().equals("gpu") ? "NVLink" : "ICI";
                        case DCN -> "DCN, " + cost.slices() + " slices";
                        case ICI_AND_DCN -> "ICI " + cost.inSlice() + ", DCN " + cost.slices();
                    },
                    cost.inSlice() > 1 ? cost.hops() : "-",
                    cost.inSlice() > 1 ? (cost.wraps() ? "closes" : "open") : "-",
                    Figures.seconds(cost.allGatherSeconds(bytes)),
                    Figures.seconds(cost.allReduceSeconds(bytes)),
                    Figures.seconds(cost.allToAllSeconds(bytes)));
        }
        table.print(output.out(), terminal);
        output.out()
                .println(terminal.dim("  times for " + size(bytes) + ", by the alpha-beta model from the chip's figures"
                        + (topology.platform().id().equals("tpu")
                                ? ""
                                : "; ICI stands for the links within a host or domain")));
        if (laid.crossesSlicesWithinIci()) {
            output.out()
                    .println(terminal.yellow("  This order leaves slices along an ICI axis, as the reference's"
                            + " reshape does; --order runtime does not."));
        }
        if (svg != null) {
            output.err().println("picture written to " + svg);
        }
    }

    private static String size(double bytes) {
        return bytes % (1 << 20) == 0
                ? String.format(Locale.ROOT, "%.0f MiB", bytes / (1 << 20))
                : String.format(Locale.ROOT, "%.0f bytes", bytes);
    }

    private static int width() {
        String columns = System.getenv("COLUMNS");
        return columns != null && columns.matches("[0-9]{2,4}") ? Integer.parseInt(columns) - 2 : DEFAULT_WIDTH;
    }

    private Map<String, Object> describe(Mesh laid) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("target", laid.topology().name());
        out.put("slices", laid.topology().slices());
        out.put("order", mesh.order() == DeviceOrder.RUNTIME ? "runtime" : "topology");
        out.put("axes", laid.axes());
        out.put("shape", laid.shape());
        out.put("resolved_shape", shape(laid.spec().shape()));
        out.put("device_ids", laid.deviceIds());
        out.put("rule", laid.rule().name().toLowerCase(Locale.ROOT));
        out.put("assignment_physical_by_logical", laid.assignment());
        out.put("crosses_slices_within_ici", laid.crossesSlicesWithinIci());
        List<Map<String, Object>> costs = new ArrayList<>();
        for (AxisCost cost : laid.axisCosts()) {
            Map<String, Object> c = new LinkedHashMap<>();
            c.put("axis", cost.axis());
            c.put("size", cost.size());
            c.put("medium", cost.medium().name().toLowerCase(Locale.ROOT));
            c.put("in_slice", cost.inSlice());
            c.put("slices", cost.slices());
            c.put("hops", cost.hops());
            c.put("wraps", cost.wraps());
            c.put("bytes", bytes);
            c.put("all_gather_seconds", known(cost.allGatherSeconds(bytes)));
            c.put("all_reduce_seconds", known(cost.allReduceSeconds(bytes)));
            c.put("all_to_all_seconds", known(cost.allToAllSeconds(bytes)));
            costs.add(c);
        }
        out.put("axis_costs", costs);
        return out;
    }

    private static @Nullable Double known(double seconds) {
        return Double.isNaN(seconds) ? null : seconds;
    }

    /** A shape as JSON: a list of sizes, or an object of two. */
    static Object shape(MeshShape shape) {
        return switch (shape) {
            case MeshShape.Plain(List<Integer> sizes) -> sizes;
            case MeshShape.Hybrid(List<Integer> ici, List<Integer> dcn) -> {
                Map<String, Object> parts = new LinkedHashMap<>();
                parts.put("ici", ici);
                parts.put("dcn", dcn);
                yield parts;
            }
        };
    }
}
