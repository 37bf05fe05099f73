// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import dev.slipway.checkpoint.Dtype;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Numbers of a stored tensor in another order: the number at {@code (i, j, ...)} is the stored one at {@code offset + i *
 * stride_i + j * stride_j + ...}. Slices of fused tensors, transposed ones and permuted rows are all of this form.
 */
record View(StoredTensor tensor, long offset, ImmutableList<Step> steps) {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Numbers decoded at a time: a multiple of every block, and small enough for the first-level cache. */
    private static final int CHUNK = 4096;

    /** Rows turned at a time: a cache line of float32. */
    private static final int TILE = 16;

    /** One dimension: how many, and how far apart in the stored tensor. */
    record Step(long size, long stride) {}

    /** Neighbouring dimensions that are one run are joined, so that copies go in the longest runs. */
    View {
        List<Step> joined = new ArrayList<>();
        for (Step step : steps) {
            if (step.size() == 1) {
                continue;
            }
            if (!joined.isEmpty() && joined.getLast().stride() == step.size() * step.stride()) {
                Step outer = joined.removeLast();
                joined.add(new Step(outer.size() * step.size(), step.stride()));
            } else {
                joined.add(step);
            }
        }
        if (joined.isEmpty()) {
            joined.add(new Step(1, 1));
        }
        steps = ImmutableList.copyOf(joined);
    }

    /** The numbers {@code [from, from + count)} as stored. */
    static View run(StoredTensor tensor, long from, long count) {
        return new View(tensor, from, ImmutableList.of(new Step(count, 1)));
    }

    /** A view with the given {@code size, stride} pairs. */
    static View strided(StoredTensor tensor, long offset, long... sizesAndStrides) {
        ImmutableList.Builder<Step> steps = ImmutableList.builder();
        for (int i = 0; i < sizesAndStrides.length; i += 2) {
            steps.add(new Step(sizesAndStrides[i], sizesAndStrides[i + 1]));
        }
        return new View(tensor, offset, steps.build());
    }

    long count() {
        return steps.stream().mapToLong(Step::size).reduce(1, (a, b) -> a * b);
    }

    /** Whether every run begins and ends with a block, which a copy relies on. */
    boolean wholeBlocks() {
        int block = tensor.encoding().numbers();
        Step last = steps.getLast();
        return block == 1
                || (offset % block == 0
                        && last.stride() == 1
                        && last.size() % block == 0
                        && steps.subList(0, steps.size() - 1).stream().allMatch(s -> s.stride() % block == 0));
    }

    /** Bits of a number, if 32 neighbouring ones share a step and an offset, or if it is a bfloat16. */
    OptionalInt storedBits() {
        if (tensor.encoding() == Encoding.BF16) {
            return OptionalInt.of(16);
        }
        if (steps.getLast().stride() != 1) {
            return OptionalInt.empty();
        }
        return switch (tensor.encoding()) {
            case Q4_0, Q4_1, Q4_K -> OptionalInt.of(4);
            case Q5_0, Q5_1, Q5_K -> OptionalInt.of(5);
            case Q8_0 -> OptionalInt.of(8);
            default -> OptionalInt.empty();
        };
    }

    /** The stored bytes, if they are what {@link #copy} would write. */
    Optional<MemorySegment> mapped(Dtype dtype) {
        if (steps.size() > 1 || steps.getFirst().stride() != 1 || !verbatim(dtype)) {
            return Optional.empty();
        }
        MemorySegment bytes = tensor.data().asSlice(offset * dtype.bytes(), count() * dtype.bytes());
        return bytes.address() % dtype.bytes() == 0 ? Optional.of(bytes) : Optional.empty();
    }

    /** Writes the numbers one after the other, from element {@code at} of {@code target} on. */
    void copy(MemorySegment target, long at, Dtype dtype) {
        Copier copier = new Copier(target, at, dtype);
        Step last = steps.getLast();
        Step rows = steps.size() > 1 ? steps.get(steps.size() - 2) : new Step(1, 1);
        boolean turned = last.stride() != 1 && rows.stride() == 1;
        int inner = turned ? Math.min(2, steps.size()) : 1;
        long[] index = new long[steps.size() - inner];
        long outer = count() / last.size() / (turned ? rows.size() : 1);
        for (long n = 0; n < outer; n++) {
            long from = offset;
            for (int i = 0; i < index.length; i++) {
                from += index[i] * steps.get(i).stride();
            }
            if (last.stride() == 1) {
                copier.run(from, last.size());
            } else {
                copier.turn(from, turned ? rows.size() : 1, last);
            }
            for (int i = index.length - 1; i >= 0 && ++index[i] == steps.get(i).size(); i--) {
                index[i] = 0;
            }
        }
    }

    private boolean verbatim(Dtype dtype) {
        return switch (dtype) {
            case F32 -> tensor.encoding() == Encoding.F32;
            case BF16 -> tensor.encoding() == Encoding.BF16;
        };
    }

    /** Where a copy stands, with its buffers. */
    private final class Copier {
        private final MemorySegment target;
        private final Dtype dtype;
        private final boolean verbatim;
        private final Encoding encoding = tensor.encoding();
        private final byte[] raw = new byte[CHUNK / encoding.numbers() * encoding.bytes()];
        private final float[] numbers = new float[CHUNK];
        private long at;

        Copier(MemorySegment target, long at, Dtype dtype) {
            this.target = target;
            this.at = at;
            this.dtype = dtype;
            this.verbatim = verbatim(dtype);
        }

        void run(long from, long count) {
            if (verbatim) {
                int bytes = dtype.bytes();
                MemorySegment.copy(tensor.data(), from * bytes, target, at * bytes, count * bytes);
                at += count;
                return;
            }
            for (long done = 0; done < count; done += CHUNK) {
                int now = (int) Math.min(CHUNK, count - done);
                int blocks = now / encoding.numbers();
                int bytes = blocks * encoding.bytes();
                long start = (from + done) / encoding.numbers() * encoding.bytes();
                MemorySegment.copy(tensor.data(), ValueLayout.JAVA_BYTE, start, raw, 0, bytes);
                encoding.decode(raw, blocks, numbers);
                write(numbers, now);
            }
        }

        /**
         * Rows that lie side by side, each of {@code columns}: a few at a time, so that what is fetched for one serves the
         * others. Only encodings without blocks come here.
         */
        void turn(long from, long rows, Step columns) {
            int bytes = encoding.bytes();
            int width = Math.toIntExact(columns.size());
            float[] tile = new float[Math.multiplyExact(width, (int) Math.min(TILE, rows))];
            for (long done = 0; done < rows; done += TILE) {
                int now = (int) Math.min(TILE, rows - done);
                for (int column = 0; column < width; column++) {
                    long start = (from + done + column * columns.stride()) * bytes;
                    MemorySegment.copy(tensor.data(), ValueLayout.JAVA_BYTE, start, raw, 0, now * bytes);
                    encoding.decode(raw, now, numbers);
                    for (int row = 0; row < now; row++) {
                        tile[row * width + column] = numbers[row];
                    }
                }
                write(tile, now * width);
            }
        }

        private void write(float[] values, int count) {
            switch (dtype) {
                case F32 -> MemorySegment.copy(values, 0, target, FLOAT, at * 4, count);
                case BF16 -> {
                    short[] rounded = new short[count];
                    for (int i = 0; i < count; i++) {
                        rounded[i] = bfloat16(values[i]);
                    }
                    MemorySegment.copy(rounded, 0, target, SHORT, at * 2, count);
                }
            }
            at += count;
        }
    }

    /** Rounded to nearest, ties to even; NaN stays NaN. */
    static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) (bits >>> 16 | 0x40);
        }
        return (short) ((bits + 0x7FFF + (bits >>> 16 & 1)) >>> 16);
    }
}
