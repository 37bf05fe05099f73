// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Conformance.Check;
import dev.slipway.runtime.Conformance.Status;
import dev.slipway.runtime.Conformance.Target;
import dev.slipway.runtime.PjrtException;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/** The checks of {@link dev.slipway.runtime.Conformance}, group by group. */
public final class ConformanceChecks {

    private ConformanceChecks() {}

    /** Runs all checks. */
    public static List<Check> run(Plugin plugin, Target target, Consumer<Check> listener) {
        try (CheckGroup.Subject subject = new CheckGroup.Subject(plugin, target)) {
            Map<String, CheckGroup.Body> checks = new LinkedHashMap<>();
            List.of(
                            new DescriptionChecks(subject),
                            new CompileChecks(subject),
                            new TransferChecks(subject),
                            new ExecuteChecks(subject))
                    .forEach(group -> group.addTo(checks));
            List<Check> results = new ArrayList<>();
            checks.forEach((name, body) -> {
                Check check = run(name, body);
                results.add(check);
                listener.accept(check);
            });
            return results;
        }
    }

    private static Check run(String name, CheckGroup.Body body) {
        try {
            return new Check(name, Status.PASS, CheckGroup.line(String.valueOf(body.run())));
        } catch (UsageException.Unsupported | StatusException.Unimplemented e) {
            return new Check(name, Status.UNSUPPORTED, CheckGroup.line(String.valueOf(e.getMessage())));
        } catch (StatusException.NotFound e) {
            // How CPU plugins say that they do not compile without a client.
            boolean absent = String.valueOf(e.getMessage()).startsWith("No compiler");
            return new Check(
                    name, absent ? Status.UNSUPPORTED : Status.FAILED, CheckGroup.line(String.valueOf(e.getMessage())));
        } catch (CompletionException e) {
            return e.getCause() instanceof StatusException.Unimplemented cause
                    ? new Check(name, Status.UNSUPPORTED, CheckGroup.line(String.valueOf(cause.getMessage())))
                    : new Check(name, Status.FAILED, CheckGroup.line(String.valueOf(e.getCause())));
        } catch (Exception | AssertionError e) {
            return new Check(
                    name,
                    Status.FAILED,
                    CheckGroup.line(e instanceof PjrtException ? String.valueOf(e.getMessage()) : e.toString()));
        }
    }
}
