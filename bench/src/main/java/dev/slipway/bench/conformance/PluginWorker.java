// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PjrtException;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginName;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Plugins;
import dev.slipway.runtime.Program;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A process that has one plugin and does what it is told, line by line: a plugin may abort, and then only this is lost.
 *
 * <p>A job is {@code FORM TAB FILE TAB LINE}; the answer is {@code ok}, or a word and why: {@code refused} by the plugin,
 * {@code differs} in its values, {@code unfit} for one device or no program at all, {@code fault} of ours.
 */
public final class PluginWorker {
    /** Whether a program is taken does not depend on how well it is compiled. */
    private static final CompileOptions QUICK =
            CompileOptions.of(options -> options.compilerOption("xla_llvm_disable_expensive_passes", true)
                    .compilerOption("xla_backend_optimization_level", 0L));

    private final Plugin plugin;
    private final String name;
    private final Map<Integer, Client> clients = new HashMap<>();
    private final Map<Path, TestFile> files = new HashMap<>();

    private PluginWorker(String name) {
        this.name = name;
        Plugins plugins = Plugins.ofUser();
        Plugins.Found found = plugins.require(name, PackageStore.Progress.NONE);
        PluginName known = PluginName.of(name).orElseThrow();
        this.plugin = Plugin.load(found.library(), known.environment(plugins.store(), System.getenv()));
    }

    /** Works for the plugin that is named, until there are no more lines. */
    public static void run(String name) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        PluginWorker worker = new PluginWorker(name);
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] job = line.split("\t", -1);
                out.println(worker.answer(job[0], Path.of(job[1]), Integer.parseInt(job[2]))
                        .replaceAll("\\s*\\R\\s*", " / "));
            }
        }
        worker.clients.values().forEach(Client::close);
    }

    private String answer(String form, Path path, int line) {
        TestFile.Case one = files.computeIfAbsent(path, TestFile::read).cases().stream()
                .filter(each -> each.line() == line)
                .findFirst()
                .orElseThrow();
        try {
            if (form.equals("run")) {
                return runChecks(Module.parse(one.text()));
            }
            compile(program(form, withoutChecks(one.text())));
            return "ok";
        } catch (PjrtException refused) {
            return "refused " + refused.getMessage();
        } catch (IrException fault) {
            return (form.equals("run") ? "unfit " : "fault ") + fault.getMessage();
        }
    }

    /** The text without the calls that compare: no plugin has those, and they give nothing. */
    private static String withoutChecks(String text) {
        return text.lines()
                .filter(line -> !line.contains("stablehlo.custom_call @check."))
                .collect(Collectors.joining("\n"));
    }

    private static Program program(String form, String text) {
        if (form.equals("upstream")) {
            return Program.of("mlir", text.getBytes(StandardCharsets.UTF_8));
        }
        Module module = Module.parse(text);
        return switch (form) {
            case "pretty" -> Program.of("mlir", module.toString().getBytes(StandardCharsets.UTF_8));
            case "bytecode" -> Program.of("mlir", module.toBytecode());
            default -> Program.of("mlir", module.toPortableArtifact(form));
        };
    }

    private Client client(int devices) {
        return clients.computeIfAbsent(
                devices, count -> plugin.client(Map.of("cpu_device_count", NamedValue.of((long) count))));
    }

    private void compile(Program program) {
        String machine = switch (name) {
            case "tpu" -> "v5e-4";
            case "cuda" -> "h100-8";
            default -> "";
        };
        if (machine.isEmpty()) {
            client(1).compile(program, QUICK).close();
            return;
        }
        PluginSpec spec = Topologies.resolve(machine, 1).plugin();
        try (PluginTopology topology = plugin.topology(spec)) {
            topology.compile(program, CompileOptions.of(options -> options.deviceAssignment(0)))
                    .close();
        }
    }

    /** What one run gives, device by device, result by result. */
    private List<List<DenseElements>> execute(
            Module program, int replicas, int partitions, List<List<DenseElements>> arguments) {
        Client client = client(replicas * partitions);
        CompileOptions options = CompileOptions.of(
                o -> o.numReplicas(replicas).numPartitions(partitions).useSpmd(partitions > 1));
        List<Buffer> open = new ArrayList<>();
        try (LoadedExecutable executable = client.compile(Program.stablehlo(program.toBytecode()), options);
                Arena arena = Arena.ofConfined()) {
            List<List<Buffer>> inputs = new ArrayList<>();
            for (int device = 0; device < arguments.size(); device++) {
                List<Buffer> list = new ArrayList<>();
                for (DenseElements elements : arguments.get(device)) {
                    byte[] bytes = Plain.bytes(elements);
                    list.add(client.put(
                            arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes),
                            Plain.type(elements.type()),
                            executable.devices().get(device)));
                }
                open.addAll(list);
                inputs.add(list);
            }
            List<List<DenseElements>> results = new ArrayList<>();
            List<TensorType> types = program.function("main").type().results().stream()
                    .map(PluginWorker::tensor)
                    .toList();
            for (List<Buffer> outputs : executable.execute(inputs, ExecuteOptions.defaults())) {
                open.addAll(outputs);
                List<DenseElements> list = new ArrayList<>();
                for (int i = 0; i < outputs.size(); i++) {
                    list.add(DenseElements.ofBytes(
                            types.get(i), outputs.get(i).toHost(arena).toArray(ValueLayout.JAVA_BYTE)));
                }
                results.add(list);
            }
            return results;
        } finally {
            open.forEach(Buffer::close);
        }
    }

    private static TensorType tensor(dev.slipway.stablehlo.Type type) {
        if (type instanceof TensorType tensor) {
            return tensor;
        }
        throw new IrException("a result of type " + type + " is no array");
    }

    private String runChecks(Module module) {
        List<CheckedProgram> programs = CheckedProgram.of(module);
        if (programs.isEmpty()) {
            return "unfit it expects nothing of its values";
        }
        List<String> differences = new ArrayList<>();
        for (CheckedProgram program : programs) {
            List<DenseElements> results =
                    execute(program.program(), 1, 1, List.of(List.of())).getFirst();
            List<List<DenseElements>> devices = List.of();
            CheckedProgram.Grid grid = program.grid();
            if (grid != null) {
                int count = grid.replicas() * grid.partitions();
                List<List<DenseElements>> inputs = new ArrayList<>();
                int each = grid.inputs().size() / count;
                for (int device = 0; device < count; device++) {
                    inputs.add(grid.inputs().subList(device * each, (device + 1) * each).stream()
                            .map(results::get)
                            .toList());
                }
                devices = execute(grid.program(), grid.replicas(), grid.partitions(), inputs);
            }
            for (CheckedProgram.Check check : program.checks()) {
                Optional<String> difference = Comparison.differences(
                        check, value(check.actual(), results, devices), value(check.expected(), results, devices));
                difference.ifPresent(text -> differences.add("@" + program.function() + ": " + text));
            }
        }
        return differences.isEmpty() ? "ok" : "differs " + String.join("; ", differences);
    }

    private static DenseElements value(
            CheckedProgram.Source source, List<DenseElements> results, List<List<DenseElements>> devices) {
        return switch (source) {
            case CheckedProgram.Source.Result result -> results.get(result.index());
            case CheckedProgram.Source.OfDevice result ->
                devices.get(result.device()).get(result.index());
            case CheckedProgram.Source.Constant constant -> constant.elements();
        };
    }
}
