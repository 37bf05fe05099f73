// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.BytecodeReader;
import dev.slipway.stablehlo.internal.BytecodeWriter;
import dev.slipway.stablehlo.internal.OpTable;
import dev.slipway.stablehlo.internal.Parser;
import dev.slipway.stablehlo.internal.Printer;
import dev.slipway.stablehlo.internal.Registry;
import dev.slipway.stablehlo.internal.Version;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A StableHLO module: functions, meshes and attributes. It is immutable.
 *
 * {@snippet :
 * Module module = Module.build("example", m -> m.function("main", f -> {
 *     Value x = f.argument(TensorType.of(ElementType.F32, 2, 3));
 *     f.returns(f.add(x, x));
 * }));
 * String text = module.toString();
 * }
 *
 * @param operation the {@code builtin.module}
 */
@SuppressWarnings("JavaLangClash") // It is MLIR's word, and java.lang.Module is seldom meant near it.
public record Module(Operation operation) {

    /** The newest version of StableHLO that is understood. */
    public static final String VERSION = Version.CURRENT.toString();

    /** @throws IllegalArgumentException if the operation is not a {@code builtin.module} of one block, without values */
    public Module {
        if (!isModule(operation)) {
            throw new IllegalArgumentException(
                    "expected a builtin.module of one block, without operands and results, got " + operation.name());
        }
    }

    /**
     * Builds a module.
     *
     * @param name its name
     * @param body adds functions, meshes and attributes
     * @throws VerificationException if an operation breaks a rule
     */
    public static Module build(String name, Consumer<ModuleBuilder> body) {
        ModuleBuilder builder = new ModuleBuilder(name);
        body.accept(builder);
        return builder.finish();
    }

    /**
     * A module from its text, in pretty or generic form; operations outside of a module are put into one.
     *
     * @throws ParseException if the text is not a module
     */
    public static Module parse(String text) {
        return wrap(Parser.parse(text.getBytes(StandardCharsets.UTF_8), null));
    }

    /**
     * A module from its text in UTF-8, where operations without a location get their line and column.
     *
     * @param text pretty or generic form
     * @param fileName the name for locations
     * @throws ParseException if the text is not a module
     */
    public static Module parse(byte[] text, String fileName) {
        return wrap(Parser.parse(text, fileName));
    }

    /**
     * A module from MLIR bytecode: plain, or a portable artifact of StableHLO 0.9.0 or newer.
     *
     * @throws BytecodeException if the bytes are no module, or of a version that is not understood
     */
    public static Module fromBytecode(byte[] bytes) {
        return wrap(BytecodeReader.read(bytes));
    }

    /** This module as plain MLIR bytecode; the same module gives the same bytes. */
    public byte[] toBytecode() {
        return BytecodeWriter.write(operation);
    }

    /**
     * This module as a portable artifact, which is read by that version of StableHLO and all newer ones.
     *
     * @param version the version to write for, e.g. {@code 1.13.0}, or {@link #VERSION}
     * @throws BytecodeException if the version is not known, or does not have what the module uses
     */
    public byte[] toPortableArtifact(String version) {
        return BytecodeWriter.writePortable(operation, version);
    }

    private static boolean isModule(Operation operation) {
        return operation.definition().id() == OpTable.BUILTIN_MODULE
                && operation.operands().isEmpty()
                && operation.results().isEmpty()
                && operation.regions().size() == 1
                && operation.region(0).blocks().size() == 1;
    }

    private static Module wrap(List<Operation> operations) {
        return operations.size() == 1 && isModule(operations.getFirst())
                ? new Module(operations.getFirst())
                : of(Attribute.Dictionary.EMPTY, operations);
    }

    /** A module of these operations. */
    public static Module of(Attribute.Dictionary attributes, List<Operation> operations) {
        return new Module(new Operation(
                Registry.get(OpTable.BUILTIN_MODULE),
                List.of(),
                attributes,
                List.of(Region.of(new Block(List.of(), operations))),
                List.of(),
                Location.UNKNOWN));
    }

    /** Its name, if it has one. */
    public Optional<String> name() {
        return operation.attribute("sym_name", Attribute.Text.class).map(Attribute.Text::value);
    }

    /** Its attributes. */
    public Attribute.Dictionary attributes() {
        return operation.attributes();
    }

    /** What stands in it: functions and meshes. */
    public List<Operation> operations() {
        return operation.region(0).block().operations();
    }

    /** Its functions, in order. */
    public List<Function> functions() {
        return operations().stream()
                .filter(op -> op.definition().id() == OpTable.FUNC_FUNC)
                .map(Function::new)
                .toList();
    }

    /**
     * The function of a name.
     *
     * @throws NoSuchElementException if there is none
     */
    public Function function(String name) {
        return functions().stream()
                .filter(function -> function.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException("the module has no function @" + name + "; it has "
                        + functions().stream().map(Function::name).toList()));
    }

    /** The mesh of a name, if there is one. */
    public Optional<DeviceMesh> mesh(String name) {
        return operations().stream()
                .filter(op -> op.definition().id() == OpTable.SDY_MESH && name.equals(symbol(op)))
                .flatMap(op -> op.attribute("mesh", DeviceMesh.class).stream())
                .findFirst();
    }

    static @Nullable String symbol(Operation operation) {
        return operation.attribute("sym_name") instanceof Attribute.Text name ? name.value() : null;
    }

    /** The text of this module. */
    public String print(PrintOptions options) {
        StringBuilder out = new StringBuilder();
        Printer.print(operation, options, out);
        return out.toString();
    }

    /** The text of this module in pretty form, which every plugin accepts. */
    @Override
    public String toString() {
        return print(PrintOptions.pretty());
    }
}
