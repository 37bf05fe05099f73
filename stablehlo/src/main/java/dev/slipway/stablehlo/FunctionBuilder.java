// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.OpTable;
import dev.slipway.stablehlo.internal.Registry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Builds the body of a function. It is good only within the lambda it is passed to. */
public final class FunctionBuilder extends OpBuilder {
    private final List<BlockArgument> arguments = new ArrayList<>();
    private final List<Attribute> argumentAttributes = new ArrayList<>();
    private final Map<String, Attribute> attributes = new TreeMap<>();
    private @Nullable List<Value> returned;
    private List<Attribute.Dictionary> resultAttributes = List.of();

    FunctionBuilder(ModuleBuilder module) {
        super(module, null);
    }

    /** Adds an argument. */
    public Value argument(Type type) {
        return argument("", type, Attribute.Dictionary.EMPTY);
    }

    /** Adds an argument with attributes, e.g. {@code tf.aliasing_output}. */
    public Value argument(Type type, Attribute.Dictionary attributes) {
        return argument("", type, attributes);
    }

    /** Adds an argument that is sharded. */
    public Value argument(Type type, TensorSharding sharding) {
        return argument("", type, Attribute.Dictionary.of(TensorSharding.ATTRIBUTE, sharding));
    }

    /**
     * Adds an argument.
     *
     * @param name what it is called, which shows where locations are printed; may be empty
     * @param type its type
     * @param attributes its attributes, e.g. {@link TensorSharding#ATTRIBUTE}
     */
    public Value argument(String name, Type type, Attribute.Dictionary attributes) {
        checkOpen();
        Location location = name.isEmpty() ? Location.UNKNOWN : new Location.Name(name, Location.UNKNOWN);
        BlockArgument argument = new BlockArgument(arguments.size(), type, location);
        adopt(argument);
        arguments.add(argument);
        argumentAttributes.add(attributes);
        return argument;
    }

    /** Sets an attribute of the function. */
    public void attribute(String name, Attribute value) {
        attributes.put(name, value);
    }

    /** Ends the function. */
    public void returns(Value... values) {
        returns(List.of(values));
    }

    /** Ends the function. */
    public void returns(List<? extends Value> values) {
        returns(values, List.of());
    }

    /**
     * Ends the function.
     *
     * @param values what it returns
     * @param attributes of each result, or none at all
     * @throws IrException if it has ended already, or if there are not as many attributes as values
     */
    public void returns(List<? extends Value> values, List<Attribute.Dictionary> attributes) {
        if (returned != null) {
            throw new IrException("the function returns twice");
        }
        if (!attributes.isEmpty() && attributes.size() != values.size()) {
            throw new IrException("the function returns " + values.size() + " values, but there are attributes for "
                    + attributes.size());
        }
        end(OpTable.FUNC_RETURN, values);
        returned = List.copyOf(values);
        resultAttributes = List.copyOf(attributes);
    }

    Operation finish(String name, String visibility) {
        List<Value> values = returned;
        if (values == null) {
            throw new IrException("the function @" + name + " does not return; end it with returns(...)");
        }
        close();
        Type.Function type = new Type.Function(
                arguments.stream().map(Value::type).toList(),
                values.stream().map(Value::type).toList());
        attributes.put("sym_name", Attribute.of(name));
        attributes.put("sym_visibility", Attribute.of(visibility));
        attributes.put("function_type", new Attribute.TypeRef(type));
        if (argumentAttributes.stream().anyMatch(each -> !each.equals(Attribute.Dictionary.EMPTY))) {
            attributes.put("arg_attrs", Attribute.array(argumentAttributes));
        }
        if (resultAttributes.stream().anyMatch(each -> !each.isEmpty())) {
            attributes.put("res_attrs", Attribute.array(resultAttributes));
        }
        return new Operation(
                Registry.get(OpTable.FUNC_FUNC),
                List.of(),
                Attribute.Dictionary.of(attributes),
                List.of(Region.of(new Block(arguments, operations()))),
                List.of(),
                Location.UNKNOWN);
    }
}
