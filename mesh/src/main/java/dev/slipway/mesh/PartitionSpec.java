// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How a tensor's dimensions are cut: for each, the mesh axes that divide it, the first of them outermost. A dimension
 * without axes, and every dimension past the end, is whole on each device.
 *
 * <p>{@code PartitionSpec.of("data", null)} is JAX's {@code P('data', None)}; a dimension cut by several axes
 * needs the constructor: {@code new PartitionSpec(List.of(List.of("data", "fsdp"), List.of()))} is {@code P(('data',
 * 'fsdp'), None)}. An axis may be taken in part: {@link AxisPart}.
 *
 * @param dimensions the axes of each dimension
 */
public record PartitionSpec(List<List<String>> dimensions) {
    private static final PartitionSpec REPLICATED = new PartitionSpec(List.of());
    private static final Pattern ENTRY = Pattern.compile(
            "\\s*(?:(None)|'([^']+)'|\\(\\s*((?:'[^']+'\\s*(?:,\\s*'[^']+'\\s*)*(?:,\\s*)?)?)\\))\\s*(,|$)");
    private static final Pattern NAME = Pattern.compile("'([^']+)'");

    /** @throws ShardingException if an axis, or what two parts of one have in common, comes twice */
    public PartitionSpec {
        dimensions = dimensions.stream().map(List::copyOf).toList();
        List<AxisPart> seen = new ArrayList<>();
        for (List<String> axes : dimensions) {
            for (String axis : axes) {
                AxisPart part = AxisPart.parse(axis);
                for (AxisPart other : seen) {
                    if (part.overlaps(other)) {
                        throw new ShardingException("Axis \"" + part.axis() + "\" comes twice in " + text(dimensions)
                                + ": it can divide one dimension only");
                    }
                }
                seen.add(part);
            }
        }
    }

    /** One axis, or null for none, for each dimension. */
    public static PartitionSpec of(@Nullable String... axes) {
        return new PartitionSpec(Arrays.stream(axes)
                .map(axis -> axis == null ? List.<String>of() : List.of(axis))
                .toList());
    }

    /** Every device holds the whole tensor. */
    public static PartitionSpec replicated() {
        return REPLICATED;
    }

    /**
     * Reads what {@link #toString} writes, which is how JAX prints specs.
     *
     * @throws ShardingException if the text is no such spec
     */
    public static PartitionSpec parse(String text) {
        String body = text.strip();
        if (!body.startsWith("P(") || !body.endsWith(")")) {
            throw unreadable(text);
        }
        body = body.substring(2, body.length() - 1).strip();
        List<List<String>> dimensions = new ArrayList<>();
        Matcher entry = ENTRY.matcher(body);
        int at = 0;
        while (at < body.length()) {
            if (!entry.find(at) || entry.start() != at) {
                throw unreadable(text);
            }
            if (entry.group(1) != null) {
                dimensions.add(List.of());
            } else if (entry.group(2) != null) {
                dimensions.add(List.of(entry.group(2)));
            } else {
                dimensions.add(NAME.matcher(entry.group(3))
                        .results()
                        .map(name -> name.group(1))
                        .toList());
            }
            at = entry.end();
        }
        return new PartitionSpec(dimensions);
    }

    private static ShardingException unreadable(String text) {
        return new ShardingException(
                "\"" + text + "\" is no partition spec: expected one like P('data', None, ('fsdp', 'model'))");
    }

    /** How many dimensions are spoken of; a tensor may have more. */
    public int rank() {
        return dimensions.size();
    }

    /** The axes that divide a dimension; none past the end. */
    public List<String> axes(int dimension) {
        return dimension < dimensions.size() ? dimensions.get(dimension) : List.of();
    }

    /** All axes and parts of axes that divide a dimension. */
    List<AxisPart> parts() {
        return dimensions.stream().flatMap(List::stream).map(AxisPart::parse).toList();
    }

    /** Whether no dimension is divided. */
    public boolean isReplicated() {
        return dimensions.stream().allMatch(List::isEmpty);
    }

    /** As JAX writes it: {@code P('data', None, ('fsdp', 'model'))}. */
    @Override
    public String toString() {
        return text(dimensions);
    }

    private static String text(List<List<String>> dimensions) {
        return dimensions.stream()
                .map(axes -> switch (axes.size()) {
                    case 0 -> "None";
                    case 1 -> "'" + axes.getFirst() + "'";
                    default -> axes.stream().collect(Collectors.joining("', '", "('", "')"));
                })
                .collect(Collectors.joining(", ", "P(", dimensions.size() == 1 ? ",)" : ")"));
    }
}
