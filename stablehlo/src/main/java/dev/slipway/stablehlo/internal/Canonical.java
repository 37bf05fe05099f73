// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** What an operation is apart from its location and the ways there are to write it down. */
public final class Canonical {
    private final Hasher hasher = Hashing.sha256().newHasher();
    private final Map<Value, Integer> numbers = new HashMap<>();
    private final Map<Type, byte[]> types = new HashMap<>();

    private Canonical() {}

    /** The attributes of an operation without those that say what holds without them. */
    public static Attribute.Dictionary attributes(Operation operation) {
        return Defaults.dropAll(operation.definition(), operation.attributes());
    }

    /** The SHA-256 of what a module computes. */
    public static String hash(Module module) {
        Canonical canonical = new Canonical();
        canonical.put(module.operation());
        return canonical.hasher.hash().toString();
    }

    private void put(Operation operation) {
        text(operation.name());
        hasher.putInt(operation.operands().size());
        for (Value operand : operation.operands()) {
            hasher.putInt(numbers.getOrDefault(operand, -1));
        }
        Attribute.Dictionary attributes = attributes(operation);
        hasher.putInt(attributes.size());
        for (int i = 0; i < attributes.size(); i++) {
            text(attributes.name(i));
            put(attributes.value(i));
        }
        hasher.putInt(operation.regions().size());
        for (Region region : operation.regions()) {
            hasher.putInt(region.blocks().size());
            for (Block block : region.blocks()) {
                hasher.putInt(block.arguments().size());
                block.arguments().forEach(this::define);
                hasher.putInt(block.operations().size());
                block.operations().forEach(this::put);
            }
        }
        hasher.putInt(operation.results().size());
        operation.results().forEach(this::define);
    }

    private void define(Value value) {
        numbers.put(value, numbers.size());
        bytes(types.computeIfAbsent(value.type(), type -> type.toString().getBytes(StandardCharsets.UTF_8)));
    }

    private void put(Attribute attribute) {
        if (attribute instanceof DenseElements elements) {
            text("dense");
            text(elements.type().toString());
            hasher.putInt(elements.storedSize());
            hasher.putBytes(elements.bytes());
        } else {
            text(AttributePrinter.toText(attribute));
        }
    }

    private void text(String text) {
        bytes(text.getBytes(StandardCharsets.UTF_8));
    }

    private void bytes(byte[] bytes) {
        hasher.putInt(bytes.length);
        hasher.putBytes(bytes);
    }
}
