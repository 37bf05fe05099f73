// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.hlo.ProtoReader;
import dev.slipway.runtime.internal.hlo.Shardings;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * How an array lies on devices, as XLA has it: a serialized {@code OpSharding}, of which it is known that XLA reads it.
 *
 * <p>What {@link Executable#parameterShardings} gives is read by {@link #of}.
 */
public final class Sharding {

    private static final int REPLICATED = 0;
    private static final int MAXIMAL = 1;
    private static final int TUPLE = 2;
    private static final int TILED = 3;
    private static final int LAST_TYPE = 5;

    private final byte[] proto;

    private Sharding(byte[] proto) {
        this.proto = proto;
    }

    /** All of it on each device. */
    public static Sharding replicated() {
        return new Sharding(new byte[0]);
    }

    /**
     * Cut into equal parts, which lie on devices 0 and up, the last dimension's first.
     *
     * @param parts for each dimension into how many it is cut
     * @param copies how many devices in a row have the same part
     * @throws UsageException.BadArgument if a number is below 1, or there are no dimensions
     */
    public static Sharding tiled(List<Integer> parts, int copies) {
        if (parts.isEmpty() || parts.stream().anyMatch(part -> part < 1) || copies < 1) {
            throw new UsageException.BadArgument("parts as " + parts + " with " + copies
                    + " copies are no sharding: one number above 0 for each dimension, and of copies, is needed");
        }
        return new Sharding(CompileOptions.message(out -> {
            out.writeInt32(1, TILED);
            long devices = copies;
            for (int part : parts) {
                out.writeInt64(3, part);
                devices = Math.multiplyExact(devices, part);
            }
            if (copies > 1) {
                out.writeInt64(3, copies);
                out.writeBool(6, true);
            }
            out.writeInt64(9, devices);
            out.writeInt32(10, 0);
        }));
    }

    /**
     * A serialized {@code OpSharding}.
     *
     * @throws UsageException.BadArgument if it is none, or one that XLA ends the process on: with other than one device for each part
     */
    public static Sharding of(byte[] proto) {
        Sharding sharding = new Sharding(proto.clone());
        check(ProtoReader.of(proto), sharding);
        return sharding;
    }

    private static void check(ProtoReader proto, Sharding whole) {
        long type = proto.number(1);
        List<Long> parts = proto.numbers(3);
        List<Long> devices = proto.numbers(4);
        boolean valid = switch ((int) type) {
            case MAXIMAL -> devices.size() == 1;
            case TUPLE -> !proto.messages(5).isEmpty();
            case TILED -> {
                LongStream ids = devices.isEmpty()
                        ? proto.numbers(9).stream().mapToLong(Long::longValue)
                        : LongStream.of(devices.stream().distinct().count());
                yield !parts.isEmpty()
                        && parts.stream().allMatch(part -> part > 0)
                        && proto.numbers(9).size() == proto.numbers(10).size()
                        && ids.reduce(1, (a, b) -> a * b) == parts.stream().reduce(1L, (a, b) -> a * b)
                        && (devices.isEmpty() || devices.stream().distinct().count() == devices.size());
            }
            default -> type >= REPLICATED && type <= LAST_TYPE;
        };
        if (!valid) {
            throw new UsageException.BadArgument("the " + whole.proto.length
                    + " bytes are no sharding that XLA reads: one device for each part is needed");
        }
        proto.messages(5).forEach(element -> check(element, whole));
    }

    /** The serialized {@code OpSharding}. */
    public byte[] proto() {
        return proto.clone();
    }

    /** Whether it can be that of an array of so many dimensions. */
    public boolean fits(int rank) {
        ProtoReader reader = ProtoReader.of(proto);
        int groups = (reader.flag(6) ? 1 : 0) + reader.numbers(8).size();
        return reader.number(1) != TILED || reader.numbers(3).size() - groups == rank;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Sharding sharding && Arrays.equals(proto, sharding.proto);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(proto);
    }

    /** XLA's text, as <code>{devices=[2,1]&lt;=[2]}</code>. */
    @Override
    public String toString() {
        return Shardings.text(proto);
    }
}
