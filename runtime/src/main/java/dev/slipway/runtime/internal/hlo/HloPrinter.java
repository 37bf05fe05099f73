// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An {@code HloModuleProto} as text, as XLA's {@code HloModule::ToString} writes it with its short options: computations in order,
 * instructions in the order of the schedule, shapes with layouts, attributes, no source locations. XLA's parser reads it back.
 */
public final class HloPrinter {

    private final ProtoReader module;
    private final @Nullable ProtoReader config;
    private final StringBuilder out = new StringBuilder();
    private final Map<Long, ProtoReader> computations = new HashMap<>();
    private final Map<Long, ProtoReader> instructions = new HashMap<>();
    private final Map<Long, List<Long>> schedule = new HashMap<>();

    /** Computations of one instruction, which are written where they are called. */
    private final Set<Long> sugared = new HashSet<>();

    private HloPrinter(ProtoReader module, @Nullable ProtoReader config) {
        this.module = module;
        this.config = config;
        for (ProtoReader computation : module.messages(3)) {
            computations.put(computation.number(5), computation);
            computation.messages(2).forEach(instruction -> instructions.put(instruction.number(35), instruction));
        }
        module.message(7)
                .ifPresent(s -> s.messages(1)
                        .forEach(entry -> schedule.put(
                                entry.number(1),
                                entry.message(2)
                                        .map(sequence -> sequence.numbers(1))
                                        .orElse(List.of()))));
    }

    /** The text of a serialized {@code HloModuleProto}. */
    public static String ofModule(byte[] proto) {
        return new HloPrinter(ProtoReader.of(proto), null).print();
    }

    /** The text of a serialized {@code HloModuleProtoWithConfig}. */
    public static String ofModuleWithConfig(byte[] proto) {
        ProtoReader both = ProtoReader.of(proto);
        return new HloPrinter(
                        both.message(1).orElseGet(() -> ProtoReader.of(new byte[0])),
                        both.message(2).orElse(null))
                .print();
    }

    private String print() {
        header();
        module.messages(3).forEach(this::findSugar);
        for (ProtoReader computation : module.messages(3)) {
            if (!sugared.contains(computation.number(5))) {
                computation(computation);
                out.append('\n');
            }
        }
        return out.toString();
    }

    private void header() {
        out.append("HloModule ").append(module.text(1));
        if (module.has(7)) {
            out.append(", is_scheduled=true");
        }
        module.message(8)
                .map(Attributes::aliases)
                .filter(text -> !text.isEmpty())
                .ifPresent(text -> out.append(", input_output_alias=").append(text));
        module.message(18)
                .map(Attributes::donors)
                .filter(text -> !text.isEmpty())
                .ifPresent(text -> out.append(", buffer_donor=").append(text));
        module.message(4)
                .ifPresent(shape -> out.append(", entry_computation_layout={(")
                        .append(Shapes.indexed(shape.messages(1).stream()
                                .map(s -> Shapes.text(s, true))
                                .toList()))
                        .append(")->")
                        .append(shape.message(2).map(s -> Shapes.text(s, true)).orElse("()"))
                        .append('}'));
        if (config != null && config.number(4) > 1) {
            out.append(", replica_count=").append(config.number(4));
        }
        if (config != null && config.number(5) > 1) {
            out.append(", num_partitions=").append(config.number(5));
        }
        module.message(19)
                .map(Attributes::frontend)
                .filter(text -> !text.isEmpty())
                .ifPresent(text -> out.append(", frontend_attributes=").append(text));
        out.append("\n\n");
    }

    /** An asynchronous start, update or done of one instruction is written as {@code all-gather-start} and the like. */
    private void findSugar(ProtoReader computation) {
        for (ProtoReader instruction : computation.messages(2)) {
            if (instruction.text(2).startsWith("async-")) {
                for (long called : instruction.numbers(38)) {
                    if (wrapped(called) != null) {
                        sugared.add(called);
                    }
                }
            }
        }
    }

    private @Nullable ProtoReader wrapped(long computation) {
        ProtoReader called = computations.get(computation);
        if (called == null) {
            return null;
        }
        List<ProtoReader> others = called.messages(2).stream()
                .filter(instruction -> !instruction.text(2).equals("parameter"))
                .toList();
        return others.size() == 1 && others.getFirst().number(35) == called.number(6) ? others.getFirst() : null;
    }

    /** What an asynchronous instruction wraps, by way of the one that started it. */
    private @Nullable ProtoReader wrapped(ProtoReader instruction) {
        ProtoReader start = instruction;
        while (start != null
                && (start.text(2).equals("async-done") || start.text(2).equals("async-update"))) {
            start = start.numbers(36).isEmpty()
                    ? null
                    : instructions.get(start.numbers(36).getFirst());
        }
        return start != null
                        && start.text(2).equals("async-start")
                        && !start.numbers(38).isEmpty()
                ? wrapped(start.numbers(38).getFirst())
                : null;
    }

    private void computation(ProtoReader computation) {
        long id = computation.number(5);
        if (id == module.number(6)) {
            out.append("ENTRY ");
        }
        out.append(computation.text(1)).append(" {\n");
        List<Long> order = schedule.getOrDefault(
                id, computation.messages(2).stream().map(i -> i.number(35)).toList());
        for (long number : order) {
            ProtoReader instruction = instructions.get(number);
            if (instruction != null) {
                out.append(number == computation.number(6) ? "  ROOT " : "  ");
                instruction(instruction);
                out.append('\n');
            }
        }
        out.append('}');
        String thread = computation.text(8);
        if (!thread.isEmpty() && !thread.equals("main")) {
            out.append(", execution_thread=\"").append(thread).append('"');
        }
        out.append('\n');
    }

    private void instruction(ProtoReader instruction) {
        String opcode = instruction.text(2);
        ProtoReader wrapped = wrapped(instruction);
        out.append(instruction.text(1))
                .append(" = ")
                .append(instruction.message(3).map(s -> Shapes.text(s, true)).orElse("()"))
                .append(' ')
                .append(wrapped == null ? opcode : wrapped.text(2) + opcode.substring("async".length()))
                .append('(')
                .append(operands(instruction, opcode))
                .append(')');
        Attributes attributes = new Attributes(this::called);
        if (opcode.equals("async-start")) {
            String thread = instruction.text(79);
            if (!thread.isEmpty() && !thread.equals("main")) {
                attributes.add("async_execution_thread", "\"" + thread + "\"");
            }
        }
        if (wrapped == null) {
            attributes.ofInstruction(instruction);
        } else if (opcode.equals("async-start")) {
            attributes.ofOperation(wrapped);
            attributes.ofCalls(wrapped);
        }
        attributes.ofAll(instruction);
        out.append(attributes.text());
        byte[] backend = instruction.bytes(43);
        if (backend.length > 0) {
            out.append(", backend_config=").append(Attributes.quotedUnlessJson(backend));
        }
    }

    private String called(long computation) {
        ProtoReader called = computations.get(computation);
        return called == null ? "?" : called.text(1);
    }

    private String operands(ProtoReader instruction, String opcode) {
        return switch (opcode) {
            case "parameter" -> String.valueOf(instruction.number(9));
            case "constant" -> instruction.message(8).map(Literals::text).orElse("{...}");
            default -> instruction.numbers(36).stream().map(this::name).collect(Collectors.joining(", "));
        };
    }

    private String name(long id) {
        ProtoReader instruction = instructions.get(id);
        return instruction == null ? "?" : instruction.text(1);
    }
}
