// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An error status of a plugin: one type for each status code, as absl numbers them.
 *
 * <p>The message is the plugin's, unchanged; {@link #payloads()} is what it attached (plugins since 0.99).
 */
public abstract sealed class StatusException extends PjrtException {

    private static final long serialVersionUID = 1L;
    private static final Pattern LOCATION = Pattern.compile("(?:^|[^\\w])(loc\\([^)]*\\)|[\\w./<>-]+:\\d+:\\d+)");

    private final int code;
    private final transient Map<String, byte[]> payloads;

    StatusException(int code, String message, Map<String, byte[]> payloads) {
        super(message);
        this.code = code;
        this.payloads = Map.copyOf(payloads);
    }

    /** The status code, 1 to 16. */
    public int code() {
        return code;
    }

    /** What the plugin attached, by type URL; empty for plugins before 0.99. */
    public Map<String, byte[]> payloads() {
        return payloads;
    }

    /** The place in the program that the message names: {@code loc(...)} or {@code file:line:column}. */
    public Optional<String> location() {
        Matcher matcher = LOCATION.matcher(String.valueOf(getMessage()));
        return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
    }

    /** A code that may be given to a plugin: with another it would abort. */
    static int checkCode(int code) {
        if (code < 1 || code > 16) {
            throw new UsageException.BadArgument("status code " + code + " is no error: 1 to 16 are");
        }
        return code;
    }

    /** The exception of a status code; codes that are unknown give {@link Unknown}. */
    public static StatusException of(int code, String message, Map<String, byte[]> payloads) {
        return switch (code) {
            case 1 -> new Cancelled(message, payloads);
            case 3 -> new InvalidArgument(message, payloads);
            case 4 -> new DeadlineExceeded(message, payloads);
            case 5 -> new NotFound(message, payloads);
            case 6 -> new AlreadyExists(message, payloads);
            case 7 -> new PermissionDenied(message, payloads);
            case 8 ->
                // The second is how libtpu said it before its errors had names (0.0.32).
                message.contains("CompileTimeHbmOom") || message.contains("Ran out of memory in memory space hbm")
                        ? new CompileTimeHbmOom(message, payloads)
                        : new ResourceExhausted(message, payloads);
            case 9 -> new FailedPrecondition(message, payloads);
            case 10 -> new Aborted(message, payloads);
            case 11 -> new OutOfRange(message, payloads);
            case 12 -> new Unimplemented(message, payloads);
            case 13 -> new Internal(message, payloads);
            case 14 -> new Unavailable(message, payloads);
            case 15 -> new DataLoss(message, payloads);
            case 16 -> new Unauthenticated(message, payloads);
            default -> new Unknown(message, payloads);
        };
    }

    /** Code 1. The work was cancelled. */
    public static final class Cancelled extends StatusException {
        private static final long serialVersionUID = 1L;

        Cancelled(String message, Map<String, byte[]> payloads) {
            super(1, message, payloads);
        }
    }

    /** Code 2. The plugin does not say what went wrong. */
    public static final class Unknown extends StatusException {
        private static final long serialVersionUID = 1L;

        Unknown(String message, Map<String, byte[]> payloads) {
            super(2, message, payloads);
        }
    }

    /** Code 3. An argument that is wrong whatever the state: a program that does not parse, say. */
    public static final class InvalidArgument extends StatusException {
        private static final long serialVersionUID = 1L;

        InvalidArgument(String message, Map<String, byte[]> payloads) {
            super(3, message, payloads);
        }
    }

    /** Code 4. It took too long. */
    public static final class DeadlineExceeded extends StatusException {
        private static final long serialVersionUID = 1L;

        DeadlineExceeded(String message, Map<String, byte[]> payloads) {
            super(4, message, payloads);
        }
    }

    /** Code 5. Something named is not there. */
    public static final class NotFound extends StatusException {
        private static final long serialVersionUID = 1L;

        NotFound(String message, Map<String, byte[]> payloads) {
            super(5, message, payloads);
        }
    }

    /** Code 6. Something to be made is there already. */
    public static final class AlreadyExists extends StatusException {
        private static final long serialVersionUID = 1L;

        AlreadyExists(String message, Map<String, byte[]> payloads) {
            super(6, message, payloads);
        }
    }

    /** Code 7. Not allowed. */
    public static final class PermissionDenied extends StatusException {
        private static final long serialVersionUID = 1L;

        PermissionDenied(String message, Map<String, byte[]> payloads) {
            super(7, message, payloads);
        }
    }

    /** Code 8. Memory, or another resource, has run out. */
    public static sealed class ResourceExhausted extends StatusException {
        private static final long serialVersionUID = 1L;

        ResourceExhausted(String message, Map<String, byte[]> payloads) {
            super(8, message, payloads);
        }
    }

    /** Code 9. The state does not allow it. */
    public static final class FailedPrecondition extends StatusException {
        private static final long serialVersionUID = 1L;

        FailedPrecondition(String message, Map<String, byte[]> payloads) {
            super(9, message, payloads);
        }
    }

    /** Code 10. The work was aborted, by another process of the same job for example. */
    public static final class Aborted extends StatusException {
        private static final long serialVersionUID = 1L;

        Aborted(String message, Map<String, byte[]> payloads) {
            super(10, message, payloads);
        }
    }

    /** Code 11. A range was left. */
    public static final class OutOfRange extends StatusException {
        private static final long serialVersionUID = 1L;

        OutOfRange(String message, Map<String, byte[]> payloads) {
            super(11, message, payloads);
        }
    }

    /** Code 12. The plugin has no such operation. */
    public static final class Unimplemented extends StatusException {
        private static final long serialVersionUID = 1L;

        Unimplemented(String message, Map<String, byte[]> payloads) {
            super(12, message, payloads);
        }
    }

    /** Code 13. An invariant of the plugin broke. */
    public static final class Internal extends StatusException {
        private static final long serialVersionUID = 1L;

        Internal(String message, Map<String, byte[]> payloads) {
            super(13, message, payloads);
        }
    }

    /** Code 14. Not now; perhaps later. */
    public static final class Unavailable extends StatusException {
        private static final long serialVersionUID = 1L;

        Unavailable(String message, Map<String, byte[]> payloads) {
            super(14, message, payloads);
        }
    }

    /** Code 15. Data was lost or corrupted. */
    public static final class DataLoss extends StatusException {
        private static final long serialVersionUID = 1L;

        DataLoss(String message, Map<String, byte[]> payloads) {
            super(15, message, payloads);
        }
    }

    /** Code 16. No valid credentials. */
    public static final class Unauthenticated extends StatusException {
        private static final long serialVersionUID = 1L;

        Unauthenticated(String message, Map<String, byte[]> payloads) {
            super(16, message, payloads);
        }
    }

    /**
     * The TPU compiler's answer to a program that does not fit the chip's memory, with the figures that its message gives, in
     * bytes (it rounds them to hundredths of a GiB).
     */
    public static final class CompileTimeHbmOom extends ResourceExhausted {
        private static final long serialVersionUID = 1L;

        private static final String SIZE = "([\\d.]+)([KMGT]?)";
        private static final Pattern NEEDED = Pattern.compile("(?:\\(" + SIZE + "\\) exceeds|[Uu]sed " + SIZE + " of)");
        private static final Pattern AVAILABLE = Pattern.compile("(?:available HBM \\(| of )" + SIZE);
        private static final Pattern PROGRAM = Pattern.compile("program\\s+" + SIZE);
        private static final Pattern ARGUMENTS = Pattern.compile("arguments\\s+" + SIZE);

        CompileTimeHbmOom(String message, Map<String, byte[]> payloads) {
            super(message, payloads);
        }

        /** What the program needs. */
        public OptionalLong used() {
            return figure(NEEDED);
        }

        /** What the chip has for it. */
        public OptionalLong available() {
            return figure(AVAILABLE);
        }

        /** What the program needs apart from its arguments, where the message says. */
        public OptionalLong program() {
            return figure(PROGRAM);
        }

        /** What the arguments need, where the message says. */
        public OptionalLong arguments() {
            return figure(ARGUMENTS);
        }

        private OptionalLong figure(Pattern pattern) {
            Matcher matcher = pattern.matcher(String.valueOf(getMessage()));
            if (!matcher.find()) {
                return OptionalLong.empty();
            }
            int group = matcher.group(1) != null ? 1 : 3;
            int unit = "KMGT".indexOf(matcher.group(group + 1))
                    + (matcher.group(group + 1).isEmpty() ? 0 : 1);
            return OptionalLong.of(Math.round(Double.parseDouble(matcher.group(group)) * (1L << (10 * unit))));
        }
    }
}
