// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.runtime.Conformance;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PipPackage;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginException;
import dev.slipway.runtime.PluginLog;
import dev.slipway.runtime.PluginName;
import dev.slipway.runtime.Plugins;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code slipway plugins}: which there are, where from, and what they can do. */
@Command(
        name = "plugins",
        mixinStandardHelpOptions = true,
        description = "Lists, installs and tries the PJRT plugins that compile and run programs.",
        subcommands = {
            PluginsCommand.ListCommand.class,
            PluginsCommand.InstallCommand.class,
            PluginsCommand.CheckCommand.class
        })
final class PluginsCommand implements Callable<Integer> {

    @Mixin
    private final Output output = new Output();

    @Override
    public Integer call() {
        return list(output);
    }

    /** A plugin as JSON. */
    record Entry(
            String name,
            boolean installed,
            @Nullable String source,
            @Nullable String path,
            List<Wheel> packages) {
        /** A pinned package as JSON. */
        record Wheel(
                String name,
                String version,
                String sha256,
                @JsonProperty("wheel_bytes") long bytes) {
            static Wheel of(PipPackage wheel) {
                return new Wheel(wheel.name(), wheel.version(), wheel.sha256(), wheel.bytes());
            }
        }

        static Entry of(Plugins plugins, PluginName name) {
            return of(name, plugins.find(name.text()));
        }

        static Entry of(PluginName name, Optional<Plugins.Found> found) {
            return new Entry(
                    name.text(),
                    found.isPresent(),
                    found.map(f -> f.source().name().toLowerCase(Locale.ROOT)).orElse(null),
                    found.map(f -> f.library().toString()).orElse(null),
                    name.packages().stream().map(Wheel::of).toList());
        }
    }

    private static int list(Output output) {
        Plugins plugins = Plugins.ofUser();
        List<Entry> entries = new ArrayList<>();
        for (PluginName name : PluginName.values()) {
            entries.add(Entry.of(plugins, name));
        }
        if (output.json()) {
            output.document(
                    Map.of("plugins", entries, "store", plugins.store().root().toString()));
            return 0;
        }
        Table table = Table.of("plugin", "package", "found in", "library");
        for (Entry entry : entries) {
            Entry.Wheel wheel = entry.packages().getFirst();
            table.row(
                    output.terminal().bold(entry.name()),
                    wheel.name() + " " + wheel.version(),
                    entry.source() == null ? "-" : entry.source(),
                    entry.path() == null
                            ? output.terminal().dim("slipway plugins install " + entry.name())
                            : entry.path());
        }
        table.print(output.out(), output.terminal());
        return 0;
    }

    /** {@code slipway plugins list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the plugins, and where they were found.")
    static final class ListCommand implements Callable<Integer> {
        @Mixin
        private final Output output = new Output();

        @Override
        public Integer call() {
            return list(output);
        }
    }

    /** {@code slipway plugins install}. */
    @Command(
            name = "install",
            mixinStandardHelpOptions = true,
            description = "Fetches plugins by pip, pinned by hash, into the cache folder.")
    static final class InstallCommand implements Callable<Integer> {
        @Parameters(paramLabel = "NAME", arity = "1..*", description = "cpu, tpu, cuda, cpu-0.106 or cpu-0.81.")
        private List<String> names = List.of();

        @Mixin
        private final Output output = new Output();

        @Override
        public Integer call() {
            Plugins plugins = Plugins.ofUser();
            List<PluginName> wanted = names.stream().map(PluginsCommand::named).toList();
            List<Entry> entries = new ArrayList<>();
            for (PluginName name : wanted) {
                for (PipPackage wheel : name.packages()) {
                    if (plugins.store().find(wheel).isEmpty()) {
                        fetch(plugins.store(), wheel, output);
                    }
                }
                entries.add(Entry.of(name, Optional.of(plugins.install(name, PackageStore.Progress.NONE))));
            }
            if (output.json()) {
                output.document(Map.of("plugins", entries));
            } else {
                Table table = Table.of();
                entries.forEach(entry -> table.row(output.terminal().bold(entry.name()), String.valueOf(entry.path())));
                table.print(output.out(), output.terminal());
            }
            return 0;
        }
    }

    private static PluginName named(String text) {
        return PluginName.of(text)
                .orElseThrow(() -> new PluginException.Missing("no plugin is called '" + text + "': "
                        + String.join(
                                ", ",
                                List.of(PluginName.values()).stream()
                                        .map(PluginName::text)
                                        .toList())
                        + " can be installed"));
    }

    private static void fetch(PackageStore store, PipPackage wheel, Output output) {
        try (Progress progress = Progress.begin(output, "fetching " + wheel.name() + " " + wheel.version())) {
            store.require(wheel, progress::phase);
        }
    }

    /** {@code slipway plugins check}. */
    @Command(
            name = "check",
            mixinStandardHelpOptions = true,
            description = "Tries what a plugin can do; fails if a check fails, not if one is unsupported.")
    static final class CheckCommand implements Callable<Integer> {
        @Parameters(index = "0", paramLabel = "NAME", description = "A plugin's name, or the path of its library.")
        private String name = "";

        @Option(
                names = "--as",
                paramLabel = "NAME",
                description = "With a path: try it as this plugin is tried; cpu by default.")
        private @Nullable String as;

        @Mixin
        private final Output output = new Output();

        @Spec
        @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
        private CommandSpec spec;

        @Override
        public Integer call() {
            if (PluginName.of(name).isPresent()) {
                UnreadOptions.refuse(
                        spec, List.of("--as"), "is for the path of a library; " + name + " is a plugin's name");
            }
            Plugins plugins = Plugins.ofUser();
            Conformance.Target target =
                    Conformance.Target.of(PluginName.of(name).orElseGet(() -> as == null ? PluginName.CPU : named(as)));
            if (plugins.find(name).isEmpty()) {
                PluginName.of(name)
                        .ifPresent(known -> known.packages().stream()
                                .filter(wheel -> plugins.store().find(wheel).isEmpty())
                                .forEach(wheel -> fetch(plugins.store(), wheel, output)));
            }
            PluginLog log = output.verbose() ? null : PluginLog.capture();
            try {
                if (log != null) {
                    PluginsOnDemand.note(log, name, "being checked");
                }
                Plugin plugin = plugins.load(name, PackageStore.Progress.NONE);
                return report(Conformance.check(plugin, target, check -> {}));
            } finally {
                if (log != null) {
                    log.close();
                }
            }
        }

        private int report(Conformance.Report report) {
            long failed = report.count(Conformance.Status.FAILED);
            if (output.json()) {
                output.document(CheckDocument.of(name, report));
                return failed == 0 ? 0 : 1;
            }
            Terminal terminal = output.terminal();
            Table table = Table.of("check", "status", "detail");
            for (Conformance.Check check : report.checks()) {
                table.row(check.name(), status(terminal, check.status()), terminal.dim(check.detail()));
            }
            table.print(output.out(), terminal);
            output.out()
                    .println("  " + report.plugin() + ", PJRT " + report.version() + ": "
                            + report.count(Conformance.Status.PASS) + " pass, "
                            + report.count(Conformance.Status.UNSUPPORTED) + " unsupported, " + failed + " failed");
            return failed == 0 ? 0 : 1;
        }

        private static String status(Terminal terminal, Conformance.Status status) {
            return switch (status) {
                case PASS -> terminal.green("pass");
                case UNSUPPORTED -> terminal.yellow("unsupported");
                case FAILED -> terminal.red("failed");
            };
        }
    }

    /** A conformance report as JSON. */
    record CheckDocument(
            String name,
            String library,
            @JsonProperty("pjrt_version") String version,
            long pass,
            long unsupported,
            long failed,
            List<CheckEntry> checks) {
        /** One check as JSON. */
        record CheckEntry(String name, String status, String detail) {}

        static CheckDocument of(String name, Conformance.Report report) {
            return new CheckDocument(
                    name,
                    report.plugin(),
                    report.version(),
                    report.count(Conformance.Status.PASS),
                    report.count(Conformance.Status.UNSUPPORTED),
                    report.count(Conformance.Status.FAILED),
                    report.checks().stream()
                            .map(check -> new CheckEntry(
                                    check.name(), check.status().name().toLowerCase(Locale.ROOT), check.detail()))
                            .toList());
        }
    }
}
