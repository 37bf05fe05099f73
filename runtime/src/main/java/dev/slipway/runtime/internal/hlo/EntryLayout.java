// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.Layout;
import dev.slipway.runtime.Shape;
import dev.slipway.runtime.TensorType;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What an HLO module takes. */
public final class EntryLayout {

    private static final int TUPLE = 13;

    private EntryLayout() {}

    /** The parameters of a serialized {@code HloModuleProto}, or of one with its config; those of a lone tuple, if it is that. */
    public static List<Optional<Shape>> parameters(byte[] proto, boolean withConfig) {
        ProtoReader outer = ProtoReader.of(proto);
        Optional<ProtoReader> module = withConfig ? outer.message(1) : Optional.of(outer);
        List<ProtoReader> parameters = module.flatMap(m -> m.message(4))
                .map(shape -> shape.messages(1))
                .orElse(List.of());
        boolean tupled = parameters.size() == 1 && parameters.getFirst().number(2) == TUPLE;
        return (tupled ? parameters.getFirst().messages(4) : parameters)
                .stream().map(EntryLayout::shape).toList();
    }

    private static Optional<Shape> shape(ProtoReader shape) {
        Optional<ElementType> element = element(Shapes.type((int) shape.number(2)));
        if (element.isEmpty() || shape.numbers(6).contains(1L)) {
            return Optional.empty();
        }
        long[] sizes = shape.numbers(3).stream().mapToLong(Long::longValue).toArray();
        Layout layout = shape.message(5)
                .map(proto -> Layout.parse(Shapes.layoutText(proto)))
                .filter(known -> known.minorToMajor().size() == sizes.length)
                .orElse(Layout.rowMajor(sizes.length));
        return Optional.of(new Shape(TensorType.of(element.get(), sizes), layout));
    }

    private static Optional<ElementType> element(String name) {
        for (ElementType type : ElementType.values()) {
            if (type != ElementType.TOKEN
                    && type.name().toLowerCase(Locale.ROOT).equals(name)) {
                return Optional.of(type);
            }
        }
        return Optional.empty();
    }
}
