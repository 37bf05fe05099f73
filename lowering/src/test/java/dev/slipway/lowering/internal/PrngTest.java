// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.lowering.RandomSource;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginName;
import dev.slipway.runtime.Plugins;
import dev.slipway.runtime.Program;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Keys and random numbers on the CPU plugin, bit for bit as jax 0.10.2 recorded them. */
class PrngTest {
    private static Client client;
    private static JsonNode cases;

    @BeforeAll
    static void open() throws IOException {
        Plugins plugins = Plugins.ofUser();
        Plugins.Found found = plugins.require(PluginName.CPU.text(), PackageStore.Progress.NONE);
        Plugin plugin = Plugin.load(found.library(), Map.of());
        client = plugin.client(Map.of("cpu_device_count", NamedValue.of(1)));
        try (InputStream in = Objects.requireNonNull(PrngTest.class.getResourceAsStream("prng.json"))) {
            cases = new JsonMapper().readTree(in).get("cases");
        }
    }

    @AfterAll
    static void close() {
        client.close();
    }

    /** What a case computes from its key, and for {@code categorical} from its logits. */
    private interface Draw {
        Value emit(Prng prng, Ops o, List<Value> arguments);
    }

    /** Cases whose programs are alike but for the key. */
    private record Kind(String op, String details) {
        static Kind of(JsonNode one) {
            StringBuilder details = new StringBuilder();
            for (String name : List.of("num", "data", "bit_width", "shape", "minval")) {
                details.append(one.path(name)).append(' ');
            }
            return new Kind(one.get("op").stringValue(), details.toString());
        }
    }

    private static long[] shape(JsonNode one) {
        return one.get("shape").values().stream().mapToLong(JsonNode::longValue).toArray();
    }

    /** How many keys, given as a number or as a shape. */
    private static int count(JsonNode num) {
        return num.isNumber()
                ? num.intValue()
                : num.values().stream().mapToInt(JsonNode::intValue).reduce(1, (a, b) -> a * b);
    }

    private static Draw draw(JsonNode one) {
        return switch (one.get("op").stringValue()) {
            case "split" ->
                (prng, o, it) -> {
                    List<Value> keys = prng.split(o, it.getFirst(), count(one.get("num")));
                    return o.b().concatenate(0, keys.toArray(new Value[0]));
                };
            case "fold_in" ->
                (prng, o, it) -> prng.foldIn(o, it.getFirst(), one.get("data").longValue());
            case "random_bits" -> {
                ElementType type = switch (one.get("bit_width").intValue()) {
                    case 8 -> ElementType.UI8;
                    case 16 -> ElementType.UI16;
                    case 32 -> ElementType.UI32;
                    default -> ElementType.UI64;
                };
                yield (prng, o, it) -> prng.bits(o, it.getFirst(), type, shape(one));
            }
            case "uniform" ->
                (prng, o, it) ->
                        prng.uniform(o, it.getFirst(), one.get("minval").doubleValue(), shape(one));
            case "gumbel" -> (prng, o, it) -> prng.gumbel(o, it.getFirst(), shape(one));
            case "categorical" ->
                (prng, o, it) -> {
                    // Draws of a shape: the logits' rows are its last dimension.
                    Value logits = it.get(1);
                    long[] draws = one.path("shape").isArray() ? shape(one) : new long[] {o.size(logits, 0)};
                    long[] all = Arrays.copyOf(draws, draws.length + 1);
                    all[draws.length] = o.size(logits, 1);
                    Value repeated = o.broadcast(logits, all, draws.length - 1L, draws.length);
                    return prng.categorical(o, it.getFirst(), repeated);
                };
            default -> throw new IllegalArgumentException(one.toString());
        };
    }

    private static LoadedExecutable compile(RandomSource source, List<TensorType> arguments, Draw draw) {
        Module module = Module.build(
                "draw",
                m -> m.function("main", f -> {
                    List<Value> values = new ArrayList<>();
                    for (int i = 0; i < arguments.size(); i++) {
                        values.add(f.argument("argument" + i, arguments.get(i), Attribute.Dictionary.EMPTY));
                    }
                    f.returns(draw.emit(new Prng(source), new Ops(f), values));
                }));
        return client.compile(Program.stablehlo(module.toString()), CompileOptions.defaults());
    }

    /** The result's elements as unsigned numbers. */
    private static List<Long> run(LoadedExecutable executable, List<MemorySegment> data, List<TensorType> types) {
        Device device = client.devices().getFirst();
        List<Buffer> arguments = new ArrayList<>();
        for (int i = 0; i < data.size(); i++) {
            arguments.add(client.put(
                    data.get(i),
                    dev.slipway.runtime.TensorType.of(
                            types.get(i).element().equals(ElementType.F32)
                                    ? dev.slipway.runtime.ElementType.F32
                                    : dev.slipway.runtime.ElementType.U32,
                            types.get(i).shape().toArray()),
                    device));
        }
        try (Arena arena = Arena.ofConfined()) {
            Buffer result = executable
                    .execute(List.of(arguments), ExecuteOptions.defaults())
                    .getFirst()
                    .getFirst();
            MemorySegment bytes = result.toHost(arena);
            long width = bytes.byteSize() / result.type().elements();
            List<Long> numbers = new ArrayList<>();
            for (long at = 0; at < bytes.byteSize(); at += width) {
                long number = 0;
                for (long i = width - 1; i >= 0; i--) {
                    number = number << 8 | Byte.toUnsignedLong(bytes.get(ValueLayout.JAVA_BYTE, at + i));
                }
                numbers.add(number);
            }
            result.close();
            return numbers;
        } finally {
            arguments.forEach(Buffer::close);
        }
    }

    private static List<Long> words(JsonNode hex) {
        return hex.values().stream()
                .flatMap(word -> switch (word) {
                    case JsonNode row when row.isArray() -> words(row).stream();
                    case JsonNode text
                    when text.isString() -> Stream.of(Long.parseUnsignedLong(text.stringValue(), 16));
                    default -> Stream.of(word.longValue());
                })
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"RBG, rbg", "PHILOX, rbg", "THREEFRY2X32, threefry2x32"})
    void splitsFoldsBitsAndDrawsAreThoseOfTheReference(RandomSource source, String implementation) {
        Map<Kind, LoadedExecutable> programs = new HashMap<>();
        int run = 0;
        for (JsonNode one : cases.values()) {
            if (!one.get("impl").stringValue().equals(implementation)
                    || one.get("op").stringValue().equals("seed")) {
                continue;
            }
            List<TensorType> types = new ArrayList<>(List.of(TensorType.of(ElementType.UI32, source.keyWords())));
            List<MemorySegment> data = new ArrayList<>();
            try (Arena arena = Arena.ofConfined()) {
                data.add(arena.allocateFrom(
                        ValueLayout.JAVA_INT,
                        words(one.get("key")).stream().mapToInt(Long::intValue).toArray()));
                JsonNode logits = one.path("logits");
                if (logits.isArray()) {
                    int columns = logits.get(0).size();
                    float[] flat = new float[logits.size() * columns];
                    for (int i = 0; i < flat.length; i++) {
                        flat[i] =
                                (float) logits.get(i / columns).get(i % columns).doubleValue();
                    }
                    types.add(TensorType.of(ElementType.F32, logits.size(), columns));
                    data.add(arena.allocateFrom(ValueLayout.JAVA_FLOAT, flat));
                }
                Kind kind = new Kind(Kind.of(one).op(), Kind.of(one).details() + types);
                LoadedExecutable program = programs.computeIfAbsent(kind, _ -> compile(source, types, draw(one)));

                assertThat(run(program, data, types)).as(one.toString()).isEqualTo(words(one.get("out")));
                run++;
            }
        }
        programs.values().forEach(LoadedExecutable::close);
        assertThat(run).isGreaterThan(100);
    }

    @ParameterizedTest
    @EnumSource(
            value = RandomSource.class,
            names = {"RBG", "THREEFRY2X32"})
    void seedsBecomeTheKeysOfTheReference(RandomSource source) {
        String implementation = source == RandomSource.RBG ? "rbg" : "threefry2x32";
        for (JsonNode one : cases.values()) {
            if (one.get("impl").stringValue().equals(implementation)
                    && one.get("op").stringValue().equals("seed")) {
                int[] wanted =
                        words(one.get("out")).stream().mapToInt(Long::intValue).toArray();

                assertThat(source.key(one.get("seed").longValue())).isEqualTo(wanted);
            }
        }
    }
}
