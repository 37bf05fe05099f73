// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.DeviceMesh;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.TensorSharding;
import java.util.ArrayList;
import java.util.List;

/**
 * The attributes of Shardy as its dialect encodes them. Only reading: a module is written with them as text, which every
 * version of Shardy reads, where its own encoding is younger than many plugins.
 */
final class SdyCodec {
    private SdyCodec() {}

    static Object readAttribute(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 0 ->
                new Shardy.ManualAxes(list(in, reader, Attribute.Text.class).stream()
                        .map(Attribute.Text::value)
                        .toList());
            case 1 -> new DeviceMesh.Axis(reader.string(in), in.signedVarint());
            case 2 -> new DeviceMesh(list(in, reader, DeviceMesh.Axis.class), BuiltinCodec.shape(in));
            case 3 -> new SubAxis(in.signedVarint(), in.signedVarint());
            case 4 -> {
                String name = reader.string(in);
                yield reader.optionalAttribute(in) instanceof SubAxis part
                        ? new TensorSharding.Axis(name, part.preSize(), part.size())
                        : new TensorSharding.Axis(name, 0, 0);
            }
            case 5 -> {
                List<TensorSharding.Axis> axes = list(in, reader, TensorSharding.Axis.class);
                boolean closed = in.byteValue() != 0;
                long priority = in.varint();
                yield new TensorSharding.Dimension(axes, closed, (priority & 1) == 0 ? -1 : priority >>> 1);
            }
            case 6, 15, 17 -> {
                Attribute mesh = reader.attribute(in);
                List<TensorSharding.Dimension> dimensions = list(in, reader, TensorSharding.Dimension.class);
                List<TensorSharding.Axis> replicated = list(in, reader, TensorSharding.Axis.class);
                List<TensorSharding.Axis> unreduced =
                        code == 6 ? List.of() : list(in, reader, TensorSharding.Axis.class);
                if (code == 17 && in.signedVarint() != 0) {
                    throw in.error("a sharding is unreduced by an operation other than a sum, which is not known here");
                }
                yield new TensorSharding(mesh, dimensions, replicated, unreduced);
            }
            case 7, 16 -> new Shardy.PerValue(list(in, reader, TensorSharding.class));
            case 11 -> new Shardy.Axes(list(in, reader, TensorSharding.Axis.class));
            case 12 ->
                new Shardy.AxesPerDimension(list(in, reader, Shardy.Axes.class).stream()
                        .map(Shardy.Axes::axes)
                        .toList());
            case 13 ->
                new Shardy.AllToAllParams.Move(
                        list(in, reader, TensorSharding.Axis.class), in.signedVarint(), in.signedVarint());
            case 14 -> new Shardy.AllToAllParams(list(in, reader, Shardy.AllToAllParams.Move.class));
            default -> throw in.error("the attribute " + code + " of sdy is not known");
        };
    }

    private record SubAxis(long preSize, long size) {}

    private static <T> List<T> list(ByteInput in, BytecodeReader reader, Class<T> kind) {
        int count = in.count(1);
        List<T> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Object value = reader.attributeObject(in);
            if (!kind.isInstance(value)) {
                throw in.error("a list of sdy holds something other than " + kind.getSimpleName());
            }
            values.add(kind.cast(value));
        }
        return values;
    }
}
