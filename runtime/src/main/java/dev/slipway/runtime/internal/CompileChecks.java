// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Executable;
import dev.slipway.runtime.HloPass;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** What a plugin compiles, and what it knows of it afterwards. */
final class CompileChecks extends CheckGroup {

    CompileChecks(Subject subject) {
        super(subject);
    }

    @Override
    void addTo(Map<String, Body> checks) {
        checks.put("compile.stablehlo_text", () -> nonEmpty(executable().name()));
        checks.put(
                "compile.error_is_typed",
                () -> expectError(StatusException.class, () -> {
                    Program wrong = Program.stablehlo("func.func @main() { nonsense }");
                    return target.machine().isPresent()
                            ? topology().compile(wrong, CompileOptions.defaults())
                            : client().compile(wrong, CompileOptions.defaults());
                }));
        checks.put("compile.spmd_for_two_devices", () -> {
            CompileOptions options = CompileOptions.of(o -> o.numPartitions(2));
            if (target.machine().isEmpty()) {
                needTwoDevices();
                try (LoadedExecutable sum = client().compile(Program.stablehlo(SUM_OF_TWO), options)) {
                    return expect(2, sum.executable().numPartitions());
                }
            }
            try (Executable sum = topology().compile(Program.stablehlo(SUM_OF_TWO), options)) {
                return expect(2, sum.numPartitions());
            }
        });
        checks.put("compile.pass_in_java", () -> {
            AtomicInteger modules = new AtomicInteger();
            try (HloPass.Registration _ = plugin.registerPass("a check", HloPass.Stage.AFTER_SCHEDULING, module -> {
                nonEmpty(module.text());
                modules.incrementAndGet();
                return Optional.empty();
            })) {
                Program program = Program.stablehlo(DOUBLE);
                if (target.machine().isEmpty()) {
                    client().compile(program, CompileOptions.defaults()).close();
                } else {
                    topology().compile(program, CompileOptions.defaults()).close();
                }
            }
            expect(true, modules.get() > 0);
            return modules + " modules seen";
        });
        checks.put("compile.topology_then_load", () -> {
            try (Executable compiled =
                            client().topology().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults());
                    LoadedExecutable here = client().load(compiled, CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = here.execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put(
                "executable.outputs", () -> expect(List.of(VECTOR), executable().outputs()));
        checks.put(
                "executable.counts",
                () -> expect(
                        "1 replica, 1 partition, 1 output",
                        executable().numReplicas() + " replica, " + executable().numPartitions() + " partition, "
                                + executable().numOutputs() + " output"));
        checks.put(
                "executable.fingerprint",
                () -> nonEmpty(executable().fingerprint()).length() + " characters");
        checks.put("executable.code_size", () -> executable().codeSize() + " bytes");
        checks.put("executable.memory", () -> executable().memory());
        checks.put(
                "executable.cost_analysis",
                () -> expect(4.0, executable().costAnalysis().getOrDefault("flops", -1.0)) + " flops");
        checks.put("executable.output_memory_kinds", () -> executable().outputMemoryKinds());
        checks.put("executable.parameter_memory_kinds", () -> executable().parameterMemoryKinds());
        checks.put("executable.output_layouts", () -> executable().outputLayouts());
        checks.put("executable.parameter_layouts", () -> executable().parameterLayouts());
        checks.put(
                "executable.parameter_shardings",
                () -> executable().parameterShardings().size());
        checks.put(
                "executable.output_shardings",
                () -> executable().outputShardings().size());
        checks.put("executable.optimized_program", () -> {
            Program program = executable().optimizedProgram();
            return program.format() + ", " + bytes(program.code());
        });
        checks.put(
                "executable.program_text",
                () -> nonEmpty(executable().optimizedProgram().text()).lines().count() + " lines");
        checks.put(
                "executable.parameters",
                () -> expect(
                        VECTOR,
                        executable().parameters().getFirst().orElseThrow().type()));
        checks.put("executable.compile_options", () -> bytes(executable().compileOptions()));
        checks.put("executable.abi_version", () -> bytes(executable().abiVersion()));
        checks.put("executable.metadata", () -> bytes(executable().metadata()));
        checks.put("executable.serialize", () -> bytes(executable().serializeBare()));
        checks.put("executable.serialize_load_run", () -> {
            byte[] saved = loaded().executable().serialize().toBytes();
            try (LoadedExecutable again = client().load(SerializedExecutable.of(saved));
                    Buffer x = vector();
                    Buffer y = again.execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("loaded.device_assignment", () -> bytes(loaded().deviceAssignment()));
        checks.put("loaded.fingerprint", () -> nonEmpty(loaded().fingerprint()).length() + " characters");
        checks.put("loaded.logical_ids", () -> loaded().logicalIds());
        checks.put("loaded.delete", () -> {
            try (LoadedExecutable other = client().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults())) {
                other.delete();
                if (!other.isDeleted()) {
                    throw new UsageException.Unsupported("the plugin keeps the code until the handle is closed");
                }
                return "deleted";
            }
        });
    }
}
