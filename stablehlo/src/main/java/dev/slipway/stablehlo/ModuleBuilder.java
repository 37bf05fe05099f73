// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.OpTable;
import dev.slipway.stablehlo.internal.Registry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Collects the functions, meshes and attributes of a {@link Module}. It is good only within the lambda it is passed to. */
public final class ModuleBuilder {
    private final Map<String, Attribute> attributes = new TreeMap<>();
    private final List<Operation> meshes = new ArrayList<>();
    private final List<Operation> functions = new ArrayList<>();
    private final Set<String> symbols = new HashSet<>();

    ModuleBuilder(String name) {
        if (!name.isEmpty()) {
            attributes.put("sym_name", Attribute.of(name));
        }
    }

    /** Sets an attribute of the module, e.g. {@code mhlo.num_partitions}. */
    public ModuleBuilder attribute(String name, Attribute value) {
        attributes.put(name, value);
        return this;
    }

    /** Names a mesh of devices, in their usual order, with these axes, major to minor. */
    public ModuleBuilder mesh(String name, Map<String, ? extends Number> axes) {
        return mesh(name, DeviceMesh.of(axes));
    }

    /**
     * Names a mesh of devices.
     *
     * @throws IrException if the module has something else of that name
     */
    public ModuleBuilder mesh(String name, DeviceMesh mesh) {
        claim(name);
        meshes.add(new Operation(
                Registry.get(OpTable.SDY_MESH),
                List.of(),
                Attribute.Dictionary.of("mesh", mesh, "sym_name", Attribute.of(name)),
                List.of(),
                List.of(),
                Location.UNKNOWN));
        return this;
    }

    /**
     * Adds a function that others can see.
     *
     * @param name its name, e.g. {@code main}
     * @param body declares arguments, builds operations and ends with {@link FunctionBuilder#returns}
     * @return what a {@link OpBuilder#call call} needs
     * @throws IrException if the module has something else of that name, or nothing is returned
     * @throws VerificationException if an operation breaks a rule
     */
    public Function.Ref function(String name, Consumer<FunctionBuilder> body) {
        return function(name, "public", body);
    }

    /** Adds a function that only this module can see. */
    public Function.Ref privateFunction(String name, Consumer<FunctionBuilder> body) {
        return function(name, "private", body);
    }

    private Function.Ref function(String name, String visibility, Consumer<FunctionBuilder> body) {
        claim(name);
        FunctionBuilder builder = new FunctionBuilder(this);
        body.accept(builder);
        Operation function = builder.finish(name, visibility);
        functions.add(function);
        return new Function(function).ref();
    }

    private void claim(String name) {
        if (!symbols.add(name)) {
            throw new IrException("the module has two things called @" + name + "; names must be unique");
        }
    }

    /** A name that nothing in the module has yet: the one wished for, or that with a number. */
    public String freshName(String wish) {
        String name = wish;
        for (int i = 0; symbols.contains(name); i++) {
            name = wish + "_" + i;
        }
        return name;
    }

    /** Adds to a module that there is: its names are taken. */
    ModuleBuilder(Module existing) {
        existing.operations().forEach(operation -> {
            String symbol = Module.symbol(operation);
            if (symbol != null) {
                symbols.add(symbol);
            }
        });
    }

    /** What was added. */
    List<Operation> added() {
        List<Operation> operations = new ArrayList<>(meshes);
        operations.addAll(functions);
        return operations;
    }

    Module finish() {
        List<Operation> operations = new ArrayList<>(meshes);
        operations.addAll(functions);
        return Module.of(Attribute.Dictionary.of(attributes), operations);
    }
}
