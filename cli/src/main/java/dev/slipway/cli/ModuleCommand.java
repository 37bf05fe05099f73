// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.slipway.stablehlo.Diagnostic;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.PrintOptions;
import dev.slipway.stablehlo.Structure;
import dev.slipway.stablehlo.Verifier;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code slipway module}: reads StableHLO modules, checks them, and writes them in other forms. */
@Command(
        name = "module",
        mixinStandardHelpOptions = true,
        description = {
            "Reads StableHLO modules, as text or bytecode; checks, prints and converts them.",
            "Exit code 1 where a file cannot be read or is not valid."
        })
final class ModuleCommand implements Callable<Integer> {
    /** The first bytes of MLIR bytecode, which no text begins with. */
    private static final byte[] MAGIC = {'M', 'L', (byte) 0xEF, 'R'};

    /** A line and a column, which go right behind the name of the file. */
    private static final Pattern PLACE = Pattern.compile("\\d+:\\d+: ");

    /** How a module is printed. */
    enum Form {
        PRETTY,
        GENERIC
    }

    @Parameters(
            paramLabel = "FILE",
            arity = "1..*",
            description = "Files of text or bytecode; of a folder, every .mlir, .mlirbc and .bc file in it.")
    private List<Path> files = List.of();

    @Option(names = "--verify", description = "Check every constraint of the specification, not only the syntax.")
    private boolean verify;

    @Option(names = "--print", paramLabel = "FORM", description = "Print as text: ${COMPLETION-CANDIDATES}.")
    private @Nullable Form print;

    @Option(names = "--locations", description = "With --print: print the locations of operations too.")
    private boolean locations;

    @Option(
            names = "--elide",
            paramLabel = "N",
            description = "With --print: leave out the values of constants that have more than N.")
    private @Nullable Integer elide;

    @Option(
            names = "--bytecode",
            paramLabel = "OUT",
            description = "Write MLIR bytecode to this file; with several files, to this folder.")
    private @Nullable Path bytecode;

    @Option(
            names = "--target",
            paramLabel = "V",
            description = "With --bytecode: write a portable artifact that StableHLO V and newer read, such as 1.13.0.")
    private @Nullable String target;

    @Option(names = "--stats", description = "Count the operations, and hash the structure.")
    private boolean stats;

    @Mixin
    private final Output output = new Output();

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (bytecode == null) {
            UnreadOptions.refuse(spec, List.of("--target"), "is for --bytecode OUT");
        }
        if (print == null) {
            UnreadOptions.refuse(spec, List.of("--locations", "--elide"), "is for --print FORM");
        }
        if (elide != null && elide < 0) {
            throw new ParameterException(spec.commandLine(), "--elide " + elide + ": at least 0 was expected");
        }
        List<Path> inputs = inputs();
        if (inputs.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "no .mlir, .mlirbc or .bc file in " + files + "; folders within are not looked into");
        }
        boolean intoFolder = bytecode != null && (files.size() > 1 || inputs.size() > 1 || Files.isDirectory(bytecode));
        if (intoFolder && bytecode != null) {
            refuseCollisions(inputs);
            Files.createDirectories(bytecode);
        }
        List<Result> results = new ArrayList<>();
        int workers = Math.max(1, Math.min(inputs.size(), Runtime.getRuntime().availableProcessors()));
        try (ExecutorService pool = Executors.newFixedThreadPool(workers)) {
            List<Future<Result>> pending = new ArrayList<>();
            for (Path file : inputs) {
                pending.add(pool.submit(() -> run(file, intoFolder)));
            }
            for (Future<Result> result : pending) {
                Result done = result.get();
                results.add(done);
                if (!output.json()) {
                    report(done, inputs.size() > 1);
                }
            }
        } catch (ExecutionException fault) {
            throw new IllegalStateException(fault.getCause());
        }
        if (output.json()) {
            output.document(results);
        }
        return results.stream().allMatch(Result::ok) ? 0 : 1;
    }

    private List<Path> inputs() throws IOException {
        List<Path> inputs = new ArrayList<>();
        for (Path file : files) {
            if (Files.isDirectory(file)) {
                try (Stream<Path> inside = Files.list(file)) {
                    inside.filter(ModuleCommand::isModule).sorted().forEach(inputs::add);
                }
            } else {
                inputs.add(file);
            }
        }
        return inputs;
    }

    private static boolean isModule(Path file) {
        String name = file.getFileName().toString();
        return Files.isRegularFile(file)
                && (name.endsWith(".mlir") || name.endsWith(".mlirbc") || name.endsWith(".bc"));
    }

    private void refuseCollisions(List<Path> inputs) {
        Map<Path, Path> seen = new LinkedHashMap<>();
        for (Path file : inputs) {
            Path other = seen.put(outputName(file), file);
            if (other != null) {
                throw new ParameterException(
                        spec.commandLine(), other + " and " + file + " would both be written as " + outputName(file));
            }
        }
    }

    private static Path outputName(Path file) {
        String name = file.getFileName().toString();
        String stem = name.replaceFirst("\\.(mlir\\.bc|mlirbc|mlir|bc)$", "");
        return Path.of(stem + ".mlirbc");
    }

    private Result run(Path file, boolean intoFolder) {
        List<String> errors = new ArrayList<>();
        String text = null;
        Stats counted = null;
        Path written = null;
        try {
            Module module = read(file);
            if (verify) {
                Verifier.diagnose(module).stream().map(ModuleCommand::describe).forEach(errors::add);
            }
            if (stats) {
                counted = Stats.of(module);
            }
            if (print != null) {
                text = module.print(printOptions(print));
            }
            if (bytecode != null && errors.isEmpty()) {
                written = intoFolder ? bytecode.resolve(outputName(file)) : bytecode;
                OutFile.write(written, target == null ? module.toBytecode() : module.toPortableArtifact(target));
            }
        } catch (NoSuchFileException missing) {
            errors.add("no such file: " + missing.getFile());
        } catch (FileSystemException failure) {
            errors.add(failure.getReason() == null ? String.valueOf(failure.getMessage()) : failure.getReason());
        } catch (IOException | OutFile.NotWrittenException | IrException failure) {
            errors.add(String.valueOf(failure.getMessage()));
        }
        return new Result(
                file.toString(),
                errors.isEmpty(),
                errors,
                text,
                counted,
                written == null || !errors.isEmpty() ? null : written.toString());
    }

    /** A finding, with its line and column as parse errors have them where it has some. */
    private static String describe(Diagnostic diagnostic) {
        return diagnostic.location() instanceof Location.File place
                ? place.line() + ":" + place.column() + ": " + diagnostic.operation() + ": " + diagnostic.message()
                : diagnostic.toString();
    }

    private static Module read(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        for (int i = 0; i < MAGIC.length; i++) {
            if (bytes.length <= i || bytes[i] != MAGIC[i]) {
                return Module.parse(bytes, file.getFileName().toString());
            }
        }
        return Module.fromBytecode(bytes);
    }

    private PrintOptions printOptions(Form form) {
        PrintOptions options = form == Form.PRETTY ? PrintOptions.pretty() : PrintOptions.genericForm();
        options = locations ? options.withLocations() : options;
        return elide == null ? options : options.eliding(elide);
    }

    /** @param among whether it is one of several, so that a mark ends its text */
    private void report(Result result, boolean among) {
        Terminal terminal = output.terminal();
        for (String error : result.errors()) {
            output.err()
                    .println(terminal.red(
                                    result.file() + ":" + (PLACE.matcher(error).lookingAt() ? "" : " "))
                            + error);
        }
        if (result.text() != null) {
            output.out().print(result.text());
            output.out().println(among ? "// -----" : "");
        } else if (result.ok()) {
            output.out()
                    .println(result.file() + ": " + terminal.green("ok")
                            + (result.bytecode() == null ? "" : terminal.dim(", written to " + result.bytecode())));
        }
        if (result.stats() != null) {
            Table table = Table.of("operation", "count");
            result.stats().byName().forEach((name, count) -> table.row(name, String.format(Locale.ROOT, "%,d", count)));
            table.print(output.out(), terminal);
            output.out()
                    .println(String.format(
                            Locale.ROOT,
                            "  %,d operations in %,d functions; structure %s",
                            result.stats().operations(),
                            result.stats().functions(),
                            result.stats().structure()));
        }
    }

    /** What became of one file. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Result(
            String file,
            boolean ok,
            List<String> errors,
            @Nullable String text,
            @Nullable Stats stats,
            @Nullable String bytecode) {}

    /** What a module consists of. */
    record Stats(long operations, int functions, Map<String, Long> byName, String structure) {
        static Stats of(Module module) {
            Map<String, Long> byName = new TreeMap<>();
            Structure.walk(module, operation -> byName.merge(operation.name(), 1L, Long::sum));
            return new Stats(
                    byName.values().stream().mapToLong(Long::longValue).sum(),
                    module.functions().size(),
                    byName,
                    Structure.hash(module));
        }

        @Override
        public String toString() {
            return operations + " operations";
        }
    }
}
