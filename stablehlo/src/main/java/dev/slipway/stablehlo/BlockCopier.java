// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Copies the blocks of a module, with a say on each operation: the core of every transform. */
abstract class BlockCopier {
    private final Map<Value, Value> values = new HashMap<>();
    private final ModuleBuilder added;
    private final Module module;

    BlockCopier(Module module) {
        this.module = module;
        this.added = new ModuleBuilder(module);
    }

    /** Adds what becomes of an operation to a block. The default: a copy. */
    void operation(Operation operation, OpBuilder into) {
        into.append(copy(operation, into));
    }

    /** A block is entered; where it is isolated, no value of the blocks around it is visible. */
    void enter(boolean isolated) {}

    /** A block is left. */
    void leave() {}

    final Module run() {
        OpBuilder top = new OpBuilder(added, null);
        module.operations().forEach(operation -> operation(operation, top));
        List<Operation> operations = new ArrayList<>(added.added());
        operations.addAll(top.operations());
        Operation old = module.operation();
        return new Module(new Operation(
                old.definition(),
                List.of(),
                old.attributes(),
                List.of(Region.of(new Block(List.of(), operations))),
                List.of(),
                old.location()));
    }

    /** What stands for a value of the original. */
    final Value value(Value original) {
        return values.getOrDefault(original, original);
    }

    final List<Value> values(List<? extends Value> originals) {
        List<Value> copies = new ArrayList<>(originals.size());
        originals.forEach(original -> copies.add(value(original)));
        return copies;
    }

    final void stand(Value original, Value copy) {
        values.put(original, copy);
    }

    final void stand(List<? extends Value> originals, List<? extends Value> copies) {
        for (int i = 0; i < originals.size(); i++) {
            stand(originals.get(i), copies.get(i));
        }
    }

    /** A copy of an operation, whose results stand for the original's; it is not added to the block yet. */
    final Operation copy(Operation operation, OpBuilder into) {
        List<Region> regions = new ArrayList<>(operation.regions().size());
        for (Region region : operation.regions()) {
            regions.add(copy(region, into, operation.definition().has(OpDefinition.Trait.ISOLATED)));
        }
        Operation copy = new Operation(
                operation.definition(),
                values(operation.operands()),
                operation.attributes(),
                regions,
                operation.results().stream().map(Value::type).toList(),
                operation.location());
        stand(operation.results(), copy.results());
        return copy;
    }

    private Region copy(Region region, OpBuilder around, boolean isolated) {
        List<Block> blocks = new ArrayList<>(region.blocks().size());
        @Nullable Scope parent = isolated ? null : around.scope();
        for (Block block : region.blocks()) {
            OpBuilder inner = new OpBuilder(added, parent);
            List<BlockArgument> arguments = new ArrayList<>(block.arguments().size());
            for (BlockArgument argument : block.arguments()) {
                BlockArgument copy = new BlockArgument(argument.index(), argument.type(), argument.location());
                inner.adopt(copy);
                stand(argument, copy);
                arguments.add(copy);
            }
            enter(isolated);
            block.operations().forEach(operation -> operation(operation, inner));
            leave();
            blocks.add(new Block(arguments, inner.operations()));
            inner.close();
        }
        return new Region(blocks);
    }
}
