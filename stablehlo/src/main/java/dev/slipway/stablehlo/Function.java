// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.Attrs;
import dev.slipway.stablehlo.internal.OpTable;
import java.util.List;

/**
 * A function of a module.
 *
 * @param operation the {@code func.func}
 */
public record Function(Operation operation) {

    /** @throws IllegalArgumentException if it is another operation */
    public Function {
        Attrs.expect(operation, OpTable.FUNC_FUNC);
    }

    /** Its name. */
    public String name() {
        return Attrs.readString(operation, "sym_name");
    }

    /** Its type. */
    public Type.Function type() {
        return (Type.Function) Attrs.readType(operation, "function_type");
    }

    /** Whether other modules can see it. */
    public boolean isPublic() {
        return !(operation.attribute("sym_visibility") instanceof Attribute.Text text)
                || text.value().equals("public");
    }

    /** Whether it has no body. */
    public boolean isDeclaration() {
        return operation.region(0).isEmpty();
    }

    /**
     * Its body.
     *
     * @throws IrException if it is a declaration
     */
    public Block body() {
        return operation.region(0).block();
    }

    /** The arguments; none for a declaration. */
    public List<BlockArgument> arguments() {
        return isDeclaration() ? List.of() : body().arguments();
    }

    /** The attributes of an argument. */
    public Attribute.Dictionary argumentAttributes(int index) {
        return entry("arg_attrs", index);
    }

    /** The attributes of a result. */
    public Attribute.Dictionary resultAttributes(int index) {
        return entry("res_attrs", index);
    }

    private Attribute.Dictionary entry(String list, int index) {
        return operation.attribute(list) instanceof Attribute.Array array
                        && index < array.elements().size()
                        && array.elements().get(index) instanceof Attribute.Dictionary dictionary
                ? dictionary
                : Attribute.Dictionary.EMPTY;
    }

    /** What a call needs to know of a function. */
    public record Ref(String name, Type.Function type) {}

    /** What a call needs to know of this function. */
    public Ref ref() {
        return new Ref(name(), type());
    }
}
