// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.internal;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import dev.slipway.topology.Accelerator;
import dev.slipway.topology.Bounds;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.InvalidTopologyException;
import dev.slipway.topology.Topology;
import dev.slipway.topology.UnknownTopologyException;
import dev.slipway.topology.Wrap;
import dev.slipway.topology.internal.ChipCatalogue.Entry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** From what people call machines to the machines. */
public final class TopologyNames {
    private static final CharMatcher DIGITS = CharMatcher.inRange('0', '9');
    private static final Pattern LAST_NUMBER = Pattern.compile("([0-9]+)[^0-9]*$");

    private final ChipCatalogue catalogue;

    public TopologyNames(ChipCatalogue catalogue) {
        this.catalogue = catalogue;
    }

    /** The catalogued TPU slices, by generation and then by size. */
    public ImmutableList<String> catalogued() {
        ImmutableList.Builder<String> names = ImmutableList.builder();
        for (Entry entry : catalogue.entries().values()) {
            for (int number : entry.slices().keySet()) {
                if (!entry.extra().contains(number)) {
                    names.add(entry.chip().name() + "-" + number);
                }
            }
        }
        return names.build();
    }

    /**
     * The machine of a catalogued name, spelt exactly so.
     *
     * @throws UnknownTopologyException if the catalogue does not have the name
     */
    public Topology catalogued(String name, int slices) {
        if (!catalogued().contains(name)) {
            throw new UnknownTopologyException(name, nearest(name.strip(), match(normal(name))));
        }
        return resolve(name, slices);
    }

    /**
     * The machine of a name, canonical or not.
     *
     * @throws UnknownTopologyException if no machine has this name
     */
    public Topology resolve(String name, int slices) {
        Optional<Match> match = match(normal(name));
        return match.flatMap(m -> build(m, slices))
                .orElseThrow(() -> new UnknownTopologyException(name, nearest(name.strip(), match)));
    }

    /** A name as it is looked up: in lower case, machine types replaced by what they stand for, without {@code tpu-}. */
    private String normal(String name) {
        String text = name.strip().toLowerCase(Locale.ROOT);
        String known = catalogue.machines().getOrDefault(text, text);
        return known.startsWith("tpu-") ? known.substring("tpu-".length()) : known;
    }

    /** A chip and what follows its name, as in {@code v5e} and {@code -16}. */
    private record Match(Entry entry, String rest) {}

    /** The chip with the longest spelling that the text starts with, so that h100-pcie-2 is not an h100. */
    private Optional<Match> match(String text) {
        Match best = null;
        int length = 0;
        for (Entry entry : catalogue.entries().values()) {
            for (String spelling : (Iterable<String>)
                    Stream.concat(Stream.of(entry.chip().name()), entry.aliases().stream())::iterator) {
                if (text.startsWith(spelling)
                        && spelling.length() > length
                        && (text.length() == spelling.length() || "-:".indexOf(text.charAt(spelling.length())) >= 0)) {
                    best = new Match(entry, text.substring(spelling.length()));
                    length = spelling.length();
                }
            }
        }
        return Optional.ofNullable(best);
    }

    private static Optional<Topology> build(Match match, int slices) {
        return switch (match.entry().chip().accelerator()) {
            case Accelerator.Tpu tpu -> tpu(match, tpu, slices);
            case Accelerator.Gpu gpu -> gpu(match, gpu, slices);
            case Accelerator.Cpu _ -> cpu(match, slices);
        };
    }

    private static Optional<Topology> tpu(Match match, Accelerator.Tpu tpu, int slices) {
        Entry entry = match.entry();
        String chip = entry.chip().name();
        String rest = match.rest();
        if (rest.isEmpty()) {
            return Optional.empty();
        }
        String size = rest.substring(1);
        if (size.indexOf('x') > 0) {
            Bounds slice = Bounds.parse(size);
            if (tpu.torusRank() == 2 && slice.z() > 1) {
                throw new InvalidTopologyException(
                        "A " + chip + " slice has two dimensions: " + size + " has " + slice.z() + " along a third");
            }
            int number = slice.volume() * tpu.nameUnitsPerChip();
            String name = slice.equals(entry.slices().get(number))
                    ? chip + "-" + number
                    : chip + ":" + (tpu.torusRank() == 2 ? slice.x() + "x" + slice.y() : slice.toString());
            return Optional.of(
                    new Topology(name, entry.chip(), slices, slice, entry.hostOf(slice), entry.wrapOf(slice)));
        }
        boolean oneHost = rest.equals("-8-1") && tpu.torusRank() == 2;
        Bounds slice = entry.slices().get(oneHost ? 8 : number(size));
        if (slice == null) {
            return Optional.empty();
        }
        // v5e and v6e come in hosts of four and of eight chips; the catalogue has the former, GCP calls the latter
        // -8-1.
        Bounds host = oneHost ? slice : entry.hostOf(slice);
        return Optional.of(new Topology(chip + "-" + size, entry.chip(), slices, slice, host, entry.wrapOf(slice)));
    }

    private static Optional<Topology> gpu(Match match, Accelerator.Gpu gpu, int slices) {
        String rest = match.rest();
        int x = rest.indexOf('x');
        int perHost = rest.isEmpty() ? -1 : number(x < 0 ? rest.substring(1) : rest.substring(1, x));
        int hosts = x < 0 ? 1 : number(rest.substring(x + 1));
        // Twice the usual host is left room for: a2-megagpu-16g joins sixteen A100 by one NVSwitch.
        if (perHost < 1 || hosts < 1 || perHost > 2 * gpu.devicesPerHost()) {
            return Optional.empty();
        }
        ChipSpec chip = match.entry().chip();
        int perDomain = Math.min(gpu.hostsPerDomain(), hosts);
        if (hosts % perDomain != 0) {
            throw new InvalidTopologyException(
                    hosts + " hosts of " + chip.name() + " do not fill NVLink domains of " + perDomain + " hosts each");
        }
        if (slices < 1) {
            throw new InvalidTopologyException(
                    slices + " slices of " + hosts + " hosts of " + chip.name() + ": at least 1 was expected");
        }
        if (slices > Integer.MAX_VALUE / (hosts / perDomain)) {
            throw new InvalidTopologyException(hosts + " hosts x " + slices + " slices are more than ids can count");
        }
        Bounds domain = new Bounds(perHost * perDomain, 1, 1);
        Bounds host = new Bounds(perHost, 1, 1);
        int domains = hosts / perDomain * slices;
        return Optional.of(
                new Topology(gpuName(chip, gpu, domains, domain, host), chip, domains, domain, host, Wrap.NONE));
    }

    /**
     * The canonical name of GPUs in hosts: {@code h100-8x4}. Where an NVLink domain could hold more hosts than it does, the
     * name is that of one domain and the number of domains is told apart, as the slices of a TPU are.
     */
    public static String gpuName(ChipSpec chip, Accelerator.Gpu gpu, int domains, Bounds domain, Bounds host) {
        int perDomain = domain.x() / host.x();
        int hosts = perDomain == gpu.hostsPerDomain() ? perDomain * domains : perDomain;
        return chip.name() + "-" + host.x() + (hosts > 1 ? "x" + hosts : "");
    }

    private static Optional<Topology> cpu(Match match, int slices) {
        int count = match.rest().isEmpty() ? 1 : number(match.rest().substring(1));
        if (count < 1) {
            return Optional.empty();
        }
        Bounds all = new Bounds(count, 1, 1);
        return Optional.of(
                new Topology(count == 1 ? "cpu" : "cpu-" + count, match.entry().chip(), slices, all, all, Wrap.NONE));
    }

    /** The number that the text is, or -1; a leading zero makes another spelling of a name, so it is none. */
    private static int number(String text) {
        boolean digits = !text.isEmpty() && text.length() <= 9 && DIGITS.matchesAllOf(text) && text.charAt(0) != '0';
        return digits ? Integer.parseInt(text) : -1;
    }

    /** Up to three names for one that is unknown: of the same chip and nearest in size, or nearest in spelling. */
    private List<String> nearest(String name, Optional<Match> match) {
        if (match.isPresent()) {
            String digits = DIGITS.retainFrom(match.get().rest());
            if (!digits.isEmpty()) {
                double wanted = Math.log(Math.max(0.5, Double.parseDouble(digits)));
                String chip = match.get().entry().chip().name();
                return sizes(match.get().entry()).stream()
                        .sorted(Comparator.comparingDouble(n -> Math.abs(Math.log(n) - wanted)))
                        .limit(3)
                        .map(n -> chip + "-" + n)
                        .toList();
            }
        }
        String text = name.toLowerCase(Locale.ROOT);
        // Spellings by the machine they stand for, so that no machine is offered twice; canonical ones come first.
        Map<String, List<String>> spellings = new LinkedHashMap<>();
        for (Entry entry : catalogue.entries().values()) {
            for (int size : sizes(entry)) {
                String canonical = entry.chip().name() + "-" + size;
                List<String> names = spellings.computeIfAbsent(canonical, c -> new ArrayList<>(List.of(c)));
                entry.aliases().forEach(alias -> names.add(alias + "-" + size));
            }
        }
        catalogue
                .machines()
                .forEach((machine, canonical) -> spellings
                        .computeIfAbsent(canonical, c -> new ArrayList<>())
                        .add(machine));
        record Candidate(String name, int distance) {}
        return spellings.values().stream()
                .map(names -> names.stream()
                        .map(n -> new Candidate(n, distance(text, n)))
                        .min(Comparator.comparingInt(Candidate::distance))
                        .orElseThrow())
                .sorted(Comparator.comparingInt(Candidate::distance)
                        .thenComparingDouble(c -> Math.abs(lastNumber(c.name()) - lastNumber(text)))
                        .thenComparingInt(c -> c.name().length()))
                .limit(3)
                .map(Candidate::name)
                .toList();
    }

    private static double lastNumber(String text) {
        Matcher number = LAST_NUMBER.matcher(text);
        return number.find() ? Double.parseDouble(number.group(1)) : 0;
    }

    private static List<Integer> sizes(Entry entry) {
        ImmutableSortedMap<Integer, Bounds> slices = entry.slices();
        if (!slices.isEmpty()) {
            return slices.keySet().asList();
        }
        return entry.chip().accelerator() instanceof Accelerator.Gpu gpu && gpu.devicesPerHost() == 4
                ? List.of(1, 2, 4)
                : List.of(1, 2, 4, 8);
    }

    /** Levenshtein's distance: how many letters have to be put in, left out or changed. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(change, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
