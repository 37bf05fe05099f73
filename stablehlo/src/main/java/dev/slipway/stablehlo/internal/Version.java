// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.BytecodeException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A version of the StableHLO dialect. */
public record Version(int major, int minor, int patch) implements Comparable<Version> {
    /** The newest version that is understood. */
    public static final Version CURRENT = new Version(1, 20, 0);
    /** The oldest version that is understood. */
    public static final Version OLDEST = new Version(0, 9, 0);

    private static final Pattern TEXT = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})\\.(\\d{1,4})");
    private static final Pattern PRODUCER = Pattern.compile("StableHLO_v(\\d{1,4}\\.\\d{1,4}\\.\\d{1,4})");

    /** A version from its text. */
    public static Version parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new BytecodeException("'" + text + "' is no version; expected three numbers such as " + CURRENT);
        }
        return new Version(
                Integer.parseInt(matcher.group(1)),
                Integer.parseInt(matcher.group(2)),
                Integer.parseInt(matcher.group(3)));
    }

    /** A version to write for. */
    static Version target(String text) {
        Version version = parse(text);
        if (version.compareTo(OLDEST) < 0 || version.compareTo(CURRENT) > 0) {
            throw new BytecodeException(
                    "cannot write for version " + text + "; versions " + OLDEST + " to " + CURRENT + " are understood");
        }
        return new Version(version.major, version.minor, 0);
    }

    /** The version of an artifact by the producer that it names; null for other producers. */
    static @Nullable Version ofProducer(String producer) {
        Matcher matcher = PRODUCER.matcher(producer);
        return matcher.matches() ? parse(matcher.group(1)) : null;
    }

    /** The version of MLIR's bytecode that artifacts of this version have. */
    int bytecode() {
        if (compareTo(new Version(0, 10, 0)) < 0) {
            return 0;
        }
        if (compareTo(new Version(0, 12, 0)) < 0) {
            return 1;
        }
        return compareTo(new Version(0, 14, 0)) < 0 ? 3 : 6;
    }

    @Override
    public int compareTo(Version other) {
        int byMajor = Integer.compare(major, other.major);
        int byMinor = Integer.compare(minor, other.minor);
        return byMajor != 0 ? byMajor : byMinor != 0 ? byMinor : Integer.compare(patch, other.patch);
    }

    @Override
    public String toString() {
        return major + "." + minor + "." + patch;
    }
}
