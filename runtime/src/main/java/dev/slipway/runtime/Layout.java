// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout_Tiled;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout_Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * How an array lies in memory, as XLA says it: <code>{1,0:T(8,128)(2,1)S(5)}</code>.
 *
 * <p>For arguments and results of a program, StableHLO has it as the attribute {@code mhlo.layout_mode = "{0,1}"}; "default" leaves it
 * to the plugin and "auto" to the compiler. {@link CompileOptions.Builder#argumentLayouts} says it from outside. What came of
 * it, {@link Executable#parameterLayouts} tells.
 *
 * @param minorToMajor the dimensions, the one whose neighbours lie together first
 * @param tiles blocks that the array is cut into, each inside the one before, as TPUs have them
 * @param more the rest of XLA's text: element sizes {@code E(4)}, memory spaces {@code S(5)}, padding
 */
public record Layout(List<Integer> minorToMajor, List<List<Long>> tiles, String more) {

    private static final Pattern TEXT = Pattern.compile("\\{([\\d,]*)(?::(?:T((?:\\([\\d,*]*\\))+))?([^}]*))?}");
    private static final Pattern TILE = Pattern.compile("\\(([^)]*)\\)");
    private static final Pattern SPACE = Pattern.compile("S\\((\\d+)\\)");

    /**
     * A layout.
     *
     * @throws UsageException.BadArgument if the dimensions are not 0 to rank - 1, each once
     */
    public Layout {
        minorToMajor = List.copyOf(minorToMajor);
        tiles = tiles.stream().map(List::copyOf).toList();
        int rank = minorToMajor.size();
        if (minorToMajor.stream().distinct().filter(d -> d >= 0 && d < rank).count() != rank) {
            throw new UsageException.BadArgument("the order " + minorToMajor + " is no layout: the dimensions 0 to "
                    + (rank - 1) + " are needed, each once, minor first");
        }
    }

    /** Dense, in that order of dimensions. */
    public static Layout of(int... minorToMajor) {
        return new Layout(Arrays.stream(minorToMajor).boxed().toList(), List.of(), "");
    }

    /** Dense, the last dimension's neighbours together: what C has. */
    public static Layout rowMajor(int rank) {
        return of(IntStream.range(0, rank).map(i -> rank - 1 - i).toArray());
    }

    /**
     * XLA's text.
     *
     * @throws UsageException.BadArgument if it is none
     */
    public static Layout parse(String text) {
        try {
            return read(text);
        } catch (NumberFormatException e) {
            throw none(text);
        }
    }

    private static UsageException.BadArgument none(String text) {
        return new UsageException.BadArgument("'" + text + "' is no layout: one like {1,0} or {1,0:T(8,128)} is");
    }

    private static Layout read(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw none(text);
        }
        List<Integer> order = matcher.group(1).isEmpty()
                ? List.of()
                : Arrays.stream(matcher.group(1).split(",", -1))
                        .map(Integer::valueOf)
                        .toList();
        List<List<Long>> tiles = new ArrayList<>();
        if (matcher.group(2) != null) {
            Matcher tile = TILE.matcher(matcher.group(2));
            while (tile.find()) {
                // A star says: combined with the next.
                tiles.add(Arrays.stream(tile.group(1).split(",", -1))
                        .map(n -> n.equals("*") ? Long.MIN_VALUE : Long.valueOf(n))
                        .toList());
            }
        }
        return new Layout(order, tiles, matcher.group(3) == null ? "" : matcher.group(3));
    }

    /** The memory space by the plugin's number, 0 for the device's own. */
    public int memorySpace() {
        Matcher matcher = SPACE.matcher(more);
        return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
    }

    /** Whether it is the order of C, without tiles. */
    public boolean isRowMajor() {
        return tiles.isEmpty() && minorToMajor.equals(rowMajor(minorToMajor.size()).minorToMajor);
    }

    /** Whether the order and the tiles are the same, in whatever memory. */
    boolean isSameOrder(Layout other) {
        return minorToMajor.equals(other.minorToMajor) && tiles.equals(other.tiles);
    }

    /** For the C API; the rank must be the array's. */
    MemorySegment write(Scratch scratch, TensorType type) {
        int rank = minorToMajor.size();
        if (rank != type.dimensions().size()) {
            throw new UsageException.BadArgument("the layout " + this + " is of " + rank + " dimensions, " + type
                    + " has " + type.dimensions().size());
        }
        MemorySegment order = scratch.allocate(Math.max(1, (long) rank * Long.BYTES), 8);
        for (int i = 0; i < rank; i++) {
            order.setAtIndex(ValueLayout.JAVA_LONG, i, minorToMajor.get(i));
        }
        MemorySegment layout = PJRT_Buffer_MemoryLayout.in(scratch);
        PJRT_Buffer_MemoryLayout.type(layout, PJRT_Buffer_MemoryLayout_Type.Tiled);
        MemorySegment tiled = PJRT_Buffer_MemoryLayout.tiled(layout);
        PJRT_Buffer_MemoryLayout_Tiled.struct_size(tiled, PJRT_Buffer_MemoryLayout_Tiled.SIZE);
        PJRT_Buffer_MemoryLayout_Tiled.minor_to_major(tiled, order.address());
        PJRT_Buffer_MemoryLayout_Tiled.minor_to_major_size(tiled, rank);
        if (!tiles.isEmpty()) {
            long[] flat = tiles.stream()
                    .flatMap(List::stream)
                    .mapToLong(Long::longValue)
                    .toArray();
            long[] sizes = tiles.stream().mapToLong(List::size).toArray();
            PJRT_Buffer_MemoryLayout_Tiled.tile_dims(
                    tiled, scratch.allocateFrom(ValueLayout.JAVA_LONG, flat).address());
            PJRT_Buffer_MemoryLayout_Tiled.tile_dim_sizes(
                    tiled, scratch.allocateFrom(ValueLayout.JAVA_LONG, sizes).address());
            PJRT_Buffer_MemoryLayout_Tiled.num_tiles(tiled, tiles.size());
        }
        return layout;
    }

    /** XLA's text. */
    @Override
    public String toString() {
        String order = minorToMajor.stream().map(String::valueOf).collect(Collectors.joining(","));
        String blocks = tiles.stream()
                .map(tile -> tile.stream()
                        .map(n -> n == Long.MIN_VALUE ? "*" : n.toString())
                        .collect(Collectors.joining(",", "(", ")")))
                .collect(Collectors.joining());
        String rest = (blocks.isEmpty() ? "" : "T" + blocks) + more;
        return "{" + order + (rest.isEmpty() ? "" : ":" + rest) + "}";
    }
}
