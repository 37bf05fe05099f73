// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.AxisPart;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorSharding;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Modules with one function {@code main}, whose arguments and results say how they lie on a mesh. */
final class Modules {
    private static final String MESH = "mesh";

    private Modules() {}

    /** Emits {@code main}: arguments in, results out, in the order of the specs. */
    interface Body {
        List<Value> emit(Ops o, List<Value> arguments);
    }

    static Module module(String name, Mesh mesh, List<TensorSpec> arguments, List<TensorSpec> results, Body body) {
        return Module.build(name, m -> {
            m.attribute("mhlo.num_partitions", Attribute.i32(mesh.size()));
            m.attribute("mhlo.num_replicas", Attribute.i32(1));
            Map<String, Integer> axes = new LinkedHashMap<>();
            for (int i = 0; i < mesh.axes().size(); i++) {
                axes.put(mesh.axes().get(i), mesh.shape().get(i));
            }
            m.mesh(MESH, axes);
            m.function("main", f -> {
                List<Value> values = new ArrayList<>();
                for (TensorSpec spec : arguments) {
                    values.add(f.argument(spec.path(), spec.type(), argument(spec, results)));
                }
                f.returns(
                        body.emit(new Ops(f), values),
                        results.stream().map(Modules::result).toList());
            });
        });
    }

    /** Pins how a value lies on the mesh. */
    static Value constrain(Ops o, Value value, PartitionSpec spec) {
        return o.b().sdy().shardingConstraint(value, sharding(spec, o.rank(value)));
    }

    private static Attribute.Dictionary argument(TensorSpec spec, List<TensorSpec> results) {
        Map<String, Attribute> attributes = new TreeMap<>();
        attributes.put(
                TensorSharding.ATTRIBUTE, sharding(spec.partition(), spec.type().rank()));
        if (spec.donated()) {
            attributes.put("tf.aliasing_output", Attribute.i32(target(spec, results)));
        }
        return Attribute.Dictionary.of(attributes);
    }

    /** The result that a donated argument's buffer becomes: the one of the same name, or the new key for the key. */
    private static int target(TensorSpec spec, List<TensorSpec> results) {
        for (int i = 0; i < results.size(); i++) {
            String path = results.get(i).path();
            if (path.equals(spec.path())
                    || (path.equals(ProgramPaths.NEW_KEY) && spec.path().equals(ProgramPaths.KEY))) {
                return i;
            }
        }
        throw new IllegalStateException("no result takes the buffer of " + spec.path());
    }

    private static Attribute.Dictionary result(TensorSpec spec) {
        return Attribute.Dictionary.of(
                TensorSharding.ATTRIBUTE, sharding(spec.partition(), spec.type().rank()));
    }

    private static TensorSharding sharding(PartitionSpec spec, int rank) {
        List<TensorSharding.Dimension> dimensions = new ArrayList<>();
        for (int i = 0; i < rank; i++) {
            List<TensorSharding.Axis> axes = new ArrayList<>();
            for (String axis : spec.axes(i)) {
                AxisPart part = AxisPart.parse(axis);
                axes.add(new TensorSharding.Axis(part.axis(), part.before(), part.size()));
            }
            dimensions.add(TensorSharding.axes(axes));
        }
        return TensorSharding.of(MESH, dimensions);
    }
}
