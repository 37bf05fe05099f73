// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Extension;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_MemoryLayout_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_MemoryLayout_Serialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;
import dev.slipway.runtime.internal.abi.PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** The layouts extension: layouts as XLA writes them, {@code {1,0:T(8,128)}}. */
public final class Layouts {

    private Layouts() {}

    /** A buffer's layout. */
    public static String ofBuffer(Api api, Scratch scratch, long buffer) {
        Api.Table table = api.extension(Extension.LAYOUTS);
        MemorySegment args = PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args.in(scratch);
        PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args.buffer(args, buffer);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_PJRT_Buffer_MemoryLayout, args);
        return take(table, scratch, PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args.layout(args));
    }

    /** The layout that a client gives arrays of a type. */
    public static String defaultOfClient(
            Api api, Scratch scratch, long client, int type, MemorySegment dimensions, int rank) {
        Api.Table table = api.extension(Extension.LAYOUTS);
        MemorySegment args = PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.in(scratch);
        PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.client(args, client);
        PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.type(args, type);
        PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.dims(args, dimensions.address());
        PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.num_dims(args, rank);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_PJRT_Client_GetDefaultLayout, args);
        return take(table, scratch, PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args.layout(args));
    }

    /** The layout that a described machine gives arrays of a type. */
    public static String defaultOfTopology(
            Api api, Scratch scratch, long topology, int type, MemorySegment dimensions, int rank) {
        Api.Table table = api.extension(Extension.LAYOUTS);
        MemorySegment args = PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.in(scratch);
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.topology_description(args, topology);
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.type(args, type);
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.dims(args, dimensions.address());
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.num_dims(args, rank);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_PJRT_Topology_GetDefaultLayout, args);
        return take(table, scratch, PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args.layout(args));
    }

    /** The layouts of an executable's results. */
    public static List<String> ofOutputs(Api api, Scratch scratch, long executable) {
        Api.Table table = api.extension(Extension.LAYOUTS);
        MemorySegment args = PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args.in(scratch);
        PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args.executable(args, executable);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_PJRT_Executable_GetOutputLayouts, args);
        return texts(
                table,
                scratch,
                PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args.layouts(args),
                PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args.num_outputs(args));
    }

    /** The layouts of an executable's parameters. */
    public static List<String> ofParameters(Api api, Scratch scratch, long executable) {
        Api.Table table = api.extension(Extension.LAYOUTS);
        MemorySegment args = PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args.in(scratch);
        PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args.executable(args, executable);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_PJRT_Executable_GetParameterLayouts, args);
        return texts(
                table,
                scratch,
                PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args.layouts(args),
                PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args.num_parameters(args));
    }

    /** Layouts that the executable owns. */
    private static List<String> texts(Api.Table table, Scratch scratch, long layouts, long count) {
        List<String> texts = new ArrayList<>();
        for (long layout : Native.longs(layouts, count)) {
            texts.add(text(table, scratch, layout));
        }
        return texts;
    }

    /** A layout that is ours to free. */
    private static String take(Api.Table table, Scratch scratch, long layout) {
        try {
            return text(table, scratch, layout);
        } finally {
            MemorySegment destroy = PJRT_Layouts_MemoryLayout_Destroy_Args.in(scratch);
            PJRT_Layouts_MemoryLayout_Destroy_Args.layout(destroy, layout);
            table.call(PJRT_Layouts_Extension.PJRT_Layouts_MemoryLayout_Destroy, destroy);
        }
    }

    private static String text(Api.Table table, Scratch scratch, long layout) {
        MemorySegment args = PJRT_Layouts_MemoryLayout_Serialize_Args.in(scratch);
        PJRT_Layouts_MemoryLayout_Serialize_Args.layout(args, layout);
        table.call(PJRT_Layouts_Extension.PJRT_Layouts_MemoryLayout_Serialize, args);
        try {
            return Native.string(
                    PJRT_Layouts_MemoryLayout_Serialize_Args.serialized_bytes(args),
                    PJRT_Layouts_MemoryLayout_Serialize_Args.serialized_bytes_size(args));
        } finally {
            Native.free(
                    PJRT_Layouts_MemoryLayout_Serialize_Args.serialized_layout_deleter(args),
                    PJRT_Layouts_MemoryLayout_Serialize_Args.serialized_layout(args));
        }
    }
}
