// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds plugins. A plugin is named by a path, or by one of {@link PluginName}; a name is looked for
 *
 * <ol>
 *   <li>in {@code SLIPWAY_PLUGIN_PATH}: entries {@code name=path} or folders, separated by {@code :};
 *   <li>in the {@link PackageStore}, where {@link #install} puts it;
 *   <li>among the packages of an installed Python ({@code SLIPWAY_PYTHON}, else {@code python3}): {@code libtpu} and
 *       {@code jax_plugins}, whatever their version.
 * </ol>
 *
 * {@snippet :
 * Plugin cpu = Plugins.ofUser().load("cpu", PackageStore.Progress.NONE);
 * }
 */
public final class Plugins {

    /** The variable that names plugins of one's own. */
    public static final String PATH_VARIABLE = "SLIPWAY_PLUGIN_PATH";

    private final PackageStore store;
    private final Map<String, String> environment;

    private Plugins(PackageStore store, Map<String, String> environment) {
        this.store = store;
        this.environment = Map.copyOf(environment);
    }

    /** By this process's environment. */
    public static Plugins ofUser() {
        return of(System.getenv());
    }

    /** By the variables given. */
    public static Plugins of(Map<String, String> environment) {
        return new Plugins(PackageStore.of(environment), environment);
    }

    /** The store that plugins are installed in. */
    public PackageStore store() {
        return store;
    }

    /** A plugin's library and where it was found. */
    public record Found(String name, Path library, Source source) {}

    /** Where a library was found. */
    public enum Source {
        PATH,
        PLUGIN_PATH,
        STORE,
        PYTHON
    }

    /**
     * The library of a plugin, if it is on this machine.
     *
     * @throws PluginException.Missing if it is neither a path nor a name that is known, or if the environment names a
     *     library for it that is not there
     */
    public Optional<Found> find(String nameOrPath) {
        if (nameOrPath.contains("/") || nameOrPath.endsWith(".so")) {
            Path path = Path.of(nameOrPath);
            return Files.isRegularFile(path) ? Optional.of(new Found(nameOrPath, path, Source.PATH)) : Optional.empty();
        }
        Optional<PluginName> name = PluginName.of(nameOrPath);
        Optional<Path> own = onPluginPath(nameOrPath, name);
        if (own.isPresent()) {
            return own.map(path -> new Found(nameOrPath, path, Source.PLUGIN_PATH));
        }
        PluginName known = known(nameOrPath, name);
        if (known.packages().stream().allMatch(wheel -> store.find(wheel).isPresent())) {
            return store.findFile(known.packages().getFirst()).map(path -> new Found(nameOrPath, path, Source.STORE));
        }
        return inPython(known).map(path -> new Found(nameOrPath, path, Source.PYTHON));
    }

    /** The library among the packages of an installed Python. */
    private Optional<Path> inPython(PluginName name) {
        List<String> files = switch (name) {
            case TPU -> List.of("libtpu/libtpu.so");
            case CUDA ->
                List.of("jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so");
            case CPU, CPU_0_106, CPU_0_81 -> List.of();
        };
        if (files.isEmpty()) {
            return Optional.empty();
        }
        return sitePackages().stream()
                .flatMap(folder -> files.stream().map(folder::resolve))
                .filter(Files::isRegularFile)
                .findFirst();
    }

    private List<Path> sitePackages() {
        String python = environment.getOrDefault("SLIPWAY_PYTHON", "python3");
        ProcessBuilder builder = new ProcessBuilder(
                        python,
                        "-c",
                        "import site; print('\\n'.join(site.getsitepackages() + [site.getusersitepackages()]))")
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        try {
            Process process = builder.start();
            process.getOutputStream().close();
            List<Path> folders;
            try (var lines = process.inputReader()) {
                folders = lines.lines().map(Path::of).filter(Files::isDirectory).toList();
            }
            return process.waitFor() == 0 ? folders : List.of();
        } catch (IOException e) {
            return List.of(); // no such Python, so nothing is in it
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    private static PluginName known(String text, Optional<PluginName> name) {
        return name.orElseThrow(() -> new PluginException.Missing("no plugin is called '" + text + "': "
                + Arrays.stream(PluginName.values()).map(PluginName::text).collect(Collectors.joining(", "))
                + ", or a path, or a name set in " + PATH_VARIABLE + " (name=path)"));
    }

    private Optional<Path> onPluginPath(String text, Optional<PluginName> name) {
        List<String> files = Stream.concat(
                        name.map(PluginName::library).stream(),
                        Stream.of(text + ".so", "lib" + text + ".so", "pjrt_c_api_" + text + "_plugin.so"))
                .toList();
        return Stream.of(environment.getOrDefault(PATH_VARIABLE, "").split(":", -1))
                .filter(entry -> !entry.isEmpty())
                .flatMap(entry -> {
                    int equals = entry.indexOf('=');
                    if (equals >= 0) {
                        return entry.substring(0, equals).equals(text)
                                ? Stream.of(named(text, Path.of(entry.substring(equals + 1))))
                                : Stream.empty();
                    }
                    return files.stream().map(file -> Path.of(entry, file));
                })
                .filter(Files::isRegularFile)
                .findFirst();
    }

    private static Path named(String text, Path library) {
        if (!Files.isRegularFile(library)) {
            throw new PluginException.Missing(
                    "%s names %s for plugin '%s', which is no file; mend the path, or take the entry out"
                            .formatted(PATH_VARIABLE, library, text));
        }
        return library;
    }

    /**
     * The library of a plugin, installed if it is not on this machine.
     *
     * @throws PluginException.Missing if it is a path without a file, or an unknown name
     * @throws PackageException if it cannot be fetched
     */
    public Found require(String nameOrPath, PackageStore.Progress progress) {
        return find(nameOrPath).orElseGet(() -> {
            if (nameOrPath.contains("/") || nameOrPath.endsWith(".so")) {
                throw new PluginException.Missing(
                        "no plugin at '" + nameOrPath + "': give the path of a plugin's library");
            }
            return install(known(nameOrPath, PluginName.of(nameOrPath)), progress);
        });
    }

    /**
     * Fetches a plugin's packages into the store.
     *
     * @throws PackageException if they cannot be fetched
     */
    public Found install(PluginName name, PackageStore.Progress progress) {
        for (PipPackage wheel : name.packages().reversed()) {
            store.require(wheel, progress);
        }
        return new Found(name.text(), store.file(name.packages().getFirst(), progress), Source.STORE);
    }

    /**
     * Finds, installs if need be, and loads a plugin, with what it needs in the C environment set before.
     *
     * @throws PjrtException as {@link #require} and {@link Plugin#load}
     */
    public Plugin load(String nameOrPath, PackageStore.Progress progress) {
        Found found = require(nameOrPath, progress);
        return Plugin.load(
                found.library(),
                PluginName.of(nameOrPath)
                        .map(name -> name.environment(store, environment))
                        .orElse(Map.of()));
    }
}
