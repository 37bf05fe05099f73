// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.mesh.DeviceOrder;
import dev.slipway.mesh.LayoutRule;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshException;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import dev.slipway.topology.TopologyException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/**
 * Answers many mesh requests at once. Each is an object:
 *
 * <ul>
 *   <li>{@code devices}: {@code {"topology": NAME, "num_slices": N}} or {@code {"cpu": N}}
 *   <li>{@code mesh_shape}: a list of sizes, {@code {"ici": [...], "dcn": [...]}}, or null for all devices on the first axis
 *   <li>{@code axis_names}: a list, or null for data and model
 *   <li>{@code op}: {@code aot_reshape}, {@code axlearn_create_device_mesh}, {@code jax_create_device_mesh} or {@code
 *       jax_create_hybrid_device_mesh}: the function to answer as, with its flags {@code allow_split_physical_axes}, {@code
 *       contiguous_submeshes} and {@code process_is_granule}. These take the catalogue's names only. Without one, {@code
 *       order} is {@code runtime} (default) or {@code topology}, and names are as on the command line.
 * </ul>
 *
 * An answer is {@code {"ok": true, "shape", "device_ids", "resolved_mesh_shape"}}, with {@code branch} and {@code
 * assignment_physical_by_logical} where a rule of JAX's laid the devices, or {@code {"ok": false, "reason"}}.
 */
final class MeshBatch {
    private MeshBatch() {}

    /** Thrown for a request that cannot be read; answered like one that cannot be met. */
    private static final class BadRequest extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        BadRequest(String message) {
            super(message);
        }
    }

    /** The JSON array of answers to a JSON array of requests; one answer a line. */
    static String answers(JsonNode requests) {
        if (!requests.isArray()) {
            throw new BatchException("The batch should be a JSON array of requests");
        }
        return BatchFile.answers(
                requests.values().stream().map(MeshBatch::answer).toList());
    }

    private static Map<String, Object> answer(JsonNode request) {
        Map<String, Object> out = new LinkedHashMap<>();
        try {
            Mesh mesh = lay(request);
            out.put("ok", true);
            out.put("shape", mesh.shape());
            out.put("device_ids", mesh.deviceIds());
            out.put("resolved_mesh_shape", MeshCommand.shape(mesh.spec().shape()));
            if (!op(request).equals("aot_reshape")) {
                out.put("branch", branch(mesh));
                if (!mesh.assignment().isEmpty()) {
                    out.put("assignment_physical_by_logical", mesh.assignment());
                }
            }
        } catch (MeshException | TopologyException | BadRequest e) {
            out.clear();
            out.put("ok", false);
            out.put("reason", String.valueOf(e.getMessage()));
        }
        return out;
    }

    private static String op(JsonNode request) {
        return request.hasNonNull("op") ? text(request, "op") : "";
    }

    private static Mesh lay(JsonNode request) {
        if (!request.isObject()) {
            throw new BadRequest("A request should be an object, but is " + request);
        }
        String op = op(request);
        Topology topology = topology(request.path("devices"), !op.isEmpty());
        List<String> axes = given(request, "axis_names") ? texts(request, "axis_names") : MeshSpec.DEFAULT_AXES;
        MeshShape shape = shape(request);
        return switch (op) {
            case "" -> Mesh.of(topology, new MeshSpec(axes, shape), order(request));
            case "aot_reshape" -> Mesh.reshapeDevices(topology, new MeshSpec(axes, shape));
            case "axlearn_create_device_mesh" -> Mesh.of(topology, new MeshSpec(axes, shape));
            case "jax_create_device_mesh" ->
                Mesh.jaxDeviceMesh(
                        topology,
                        axes,
                        shape.sizes(),
                        flag(request, "allow_split_physical_axes"),
                        flag(request, "contiguous_submeshes"));
            case "jax_create_hybrid_device_mesh" -> {
                if (!(shape instanceof MeshShape.Hybrid hybrid)) {
                    throw new BadRequest("jax_create_hybrid_device_mesh needs a mesh_shape of ici and dcn");
                }
                yield Mesh.jaxHybridDeviceMesh(
                        topology,
                        axes,
                        hybrid,
                        flag(request, "allow_split_physical_axes"),
                        flag(request, "process_is_granule"));
            }
            default -> throw new BadRequest("Unknown op \"" + op + "\"");
        };
    }

    private static Topology topology(JsonNode devices, boolean exact) {
        if (devices.hasNonNull("cpu")) {
            return Topologies.resolve("cpu-" + devices.get("cpu"));
        }
        String name = text(devices, "topology");
        int slices = 1;
        if (devices.hasNonNull("num_slices")) {
            slices = integer(devices.get("num_slices"), "num_slices");
        }
        return exact ? Topologies.catalogued(name, slices) : Topologies.resolve(name, slices);
    }

    private static MeshShape shape(JsonNode request) {
        if (!given(request, "mesh_shape")) {
            return MeshShape.of();
        }
        JsonNode shape = request.get("mesh_shape");
        return shape.isArray()
                ? new MeshShape.Plain(integers(shape, "mesh_shape"))
                : new MeshShape.Hybrid(integers(shape.path("ici"), "ici"), integers(shape.path("dcn"), "dcn"));
    }

    /** What AXLearn takes for given: neither absent nor null nor empty. */
    private static boolean given(JsonNode request, String name) {
        return request.hasNonNull(name) && !request.get(name).isEmpty();
    }

    private static DeviceOrder order(JsonNode request) {
        String order = request.hasNonNull("order") ? text(request, "order") : "runtime";
        return switch (order.toLowerCase(Locale.ROOT)) {
            case "runtime" -> DeviceOrder.RUNTIME;
            case "topology" -> DeviceOrder.TOPOLOGY;
            default -> throw new BadRequest("Unknown order \"" + order + "\": runtime or topology was expected");
        };
    }

    /** The reference's name for the rule that laid a mesh, or each of its slices. */
    private static String branch(Mesh mesh) {
        LayoutRule rule = mesh.rule();
        return switch (rule) {
            case ROW_MAJOR -> "row_major";
            case SMALL_SLICE_TABLE ->
                "device_kind_handler:" + (mesh.topology().chip().deviceKind().equals("TPU7x") ? "7x" : "v5e");
            case RINGS -> "axlearn_rings";
            case WHOLE_AXES -> "torus_whole_axes";
            case SPLIT_AXES -> "torus_split";
            case CONTIGUOUS_SUBMESHES -> "torus_contiguous_submesh";
        };
    }

    private static boolean flag(JsonNode request, String name) {
        JsonNode value = request.path(name);
        if (value.isMissingNode() || value.isNull()) {
            return false;
        }
        if (!value.isBoolean()) {
            throw new BadRequest(name + " is " + value + ": true or false was expected");
        }
        return value.booleanValue();
    }

    private static String text(JsonNode object, String name) {
        JsonNode value = object.path(name);
        if (!value.isString()) {
            throw new BadRequest("A request needs a string \"" + name + "\"");
        }
        return value.stringValue();
    }

    private static List<String> texts(JsonNode request, String name) {
        List<String> out = new ArrayList<>();
        for (JsonNode value : request.get(name).values()) {
            if (!value.isString()) {
                throw new BadRequest(name + " holds " + value + ": strings were expected");
            }
            out.add(value.stringValue());
        }
        return out;
    }

    private static List<Integer> integers(JsonNode array, String name) {
        if (!array.isArray()) {
            throw new BadRequest(name + " should be a list of whole numbers");
        }
        return array.values().stream().map(value -> integer(value, name)).toList();
    }

    private static int integer(JsonNode value, String name) {
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw new BadRequest(name + " holds " + value + ": whole numbers were expected");
        }
        return value.intValue();
    }
}
