// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.internal;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import dev.slipway.topology.Accelerator;
import dev.slipway.topology.Bounds;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.InvalidTopologyException;
import dev.slipway.topology.Wrap;
import java.util.TreeMap;

/** The chips of {@code chips.json}, and what follows from it: every catalogued slice. */
public final class ChipCatalogue {
    /**
     * A chip with its place in the catalogue.
     *
     * @param chip the chip
     * @param aliases other spellings of its name
     * @param slices for a TPU: the slices that have a name, by the number in that name; empty for others
     * @param extra the numbers among them that only MaxText knows
     * @param wrapsByCube whether all links close once the slice is made of 4x4x4 cubes; else those of extent 16 do
     */
    public record Entry(
            ChipSpec chip,
            ImmutableList<String> aliases,
            ImmutableSortedMap<Integer, Bounds> slices,
            ImmutableList<Integer> extra,
            boolean wrapsByCube) {

        /** Which dimensions of a slice close to rings: the rule of MaxText's table. */
        public Wrap wrapOf(Bounds slice) {
            if (!(chip.accelerator() instanceof Accelerator.Tpu)) {
                return Wrap.NONE;
            }
            return wrapsByCube
                    ? (slice.isMultipleOf(CUBE) ? Wrap.ALL : Wrap.NONE)
                    : new Wrap(slice.x() == 16, slice.y() == 16, slice.z() == 16);
        }

        /** The hosts that a slice is made of: 2x2 chips, or fewer where a dimension is odd. */
        public Bounds hostOf(Bounds slice) {
            return new Bounds(slice.x() % 2 == 0 ? 2 : 1, slice.y() % 2 == 0 ? 2 : 1, 1);
        }
    }

    private static final Bounds CUBE = new Bounds(4, 4, 4);
    private static final ChipCatalogue INSTANCE = load();

    private final ImmutableMap<String, Entry> entries;
    private final ImmutableMap<String, String> machines;

    private ChipCatalogue(ImmutableMap<String, Entry> entries, ImmutableMap<String, String> machines) {
        this.entries = entries;
        this.machines = machines;
    }

    public static ChipCatalogue get() {
        return INSTANCE;
    }

    /** The chips by name, in the order of the file: TPUs, GPUs, the CPU. */
    public ImmutableMap<String, Entry> entries() {
        return entries;
    }

    public Entry entry(String chip) {
        Entry entry = entries.get(chip);
        if (entry == null) {
            throw new InvalidTopologyException("Unknown chip \"" + chip + "\": known are " + entries.keySet());
        }
        return entry;
    }

    /** Cloud machine types, each with the name of the machine that one of them is. */
    public ImmutableMap<String, String> machines() {
        return machines;
    }

    private static ChipCatalogue load() {
        JsonFields root = JsonFields.of(ChipTable.root(), "catalogue");
        ImmutableMap.Builder<String, Entry> entries = ImmutableMap.builder();
        for (Object chip : (Iterable<?>) root.get("chips")) {
            Entry entry = entry(chip);
            entries.put(entry.chip().name(), entry);
        }
        ImmutableMap.Builder<String, String> machines = ImmutableMap.builder();
        JsonFields named = root.object("machines");
        for (Object machine : named.object().keySet()) {
            if (!machine.equals("about")) {
                machines.put((String) machine, named.text((String) machine));
            }
        }
        return new ChipCatalogue(entries.buildOrThrow(), machines.buildOrThrow());
    }

    private static Entry entry(Object document) {
        ChipSpec chip = TopologyJson.readChip(document);
        JsonFields fields =
                JsonFields.of(document, chip.name()).object(chip.platform().id());
        ImmutableList<String> aliases = ImmutableList.copyOf(fields.texts("aliases"));
        if (!(chip.accelerator() instanceof Accelerator.Tpu tpu)) {
            return new Entry(chip, aliases, ImmutableSortedMap.of(), ImmutableList.of(), false);
        }
        TreeMap<Integer, Bounds> slices = new TreeMap<>();
        for (String shape : fields.texts("shapes")) {
            Bounds slice = Bounds.parse(shape);
            slices.put(slice.volume() * tpu.nameUnitsPerChip(), slice);
        }
        if (fields.has("cubes")) {
            for (String range : Splitter.on(',').split(fields.text("cubes"))) {
                int dash = range.indexOf('-');
                int from = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
                int to = dash < 0 ? from : Integer.parseInt(range.substring(dash + 1));
                for (int cubes = from; cubes <= to; cubes++) {
                    Bounds slice = arrange(cubes);
                    slices.put(slice.volume() * tpu.nameUnitsPerChip(), slice);
                }
            }
        }
        ImmutableList.Builder<Integer> extra = ImmutableList.builder();
        for (String shape : fields.texts("extra_shapes")) {
            Bounds slice = Bounds.parse(shape);
            slices.put(slice.volume() * tpu.nameUnitsPerChip(), slice);
            extra.add(slice.volume() * tpu.nameUnitsPerChip());
        }
        return new Entry(
                chip,
                aliases,
                ImmutableSortedMap.copyOf(slices),
                extra.build(),
                fields.text("wrap").equals("cubes"));
    }

    /**
     * The shape of a slice of so many 4x4x4 cubes: of all boxes a x b x c with a <= b <= c, the one whose longest and
     * shortest side differ least. This gives the shape of every catalogued slice (a test compares all of them).
     */
    static Bounds arrange(int cubes) {
        int bestA = 1;
        int bestB = 1;
        int bestC = cubes;
        for (int a = 1; a * a * a <= cubes; a++) {
            for (int b = a; cubes % a == 0 && a * b * b <= cubes; b++) {
                int c = cubes / a / b;
                if (a * b * c == cubes && c - a < bestC - bestA) {
                    bestA = a;
                    bestB = b;
                    bestC = c;
                }
            }
        }
        return new Bounds(4 * bestA, 4 * bestB, 4 * bestC);
    }
}
