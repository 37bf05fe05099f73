// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_Attributes_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_DebugString_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_Id_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_Kind_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_ProcessIndex_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_ToString_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * What a plugin says of a device, whether it is there or only described.
 *
 * @param id the device's number; not its place in lists (libtpu lists devices host by host)
 * @param processIndex the process (on TPUs, the host) that drives it
 * @param kind the vendor's name: "TPU v5 lite"
 * @param debugString for logs, at length
 * @param name for people
 * @param attributes such as {@code coords}, {@code core_on_chip}, {@code slice_index}
 */
public record DeviceDescription(
        int id, int processIndex, String kind, String debugString, String name, Map<String, NamedValue> attributes) {

    public DeviceDescription {
        attributes = Map.copyOf(attributes);
    }

    static DeviceDescription read(Api api, long description) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment id = PJRT_DeviceDescription_Id_Args.in(scratch);
            PJRT_DeviceDescription_Id_Args.device_description(id, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_Id, id);
            MemorySegment process = PJRT_DeviceDescription_ProcessIndex_Args.in(scratch);
            PJRT_DeviceDescription_ProcessIndex_Args.device_description(process, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_ProcessIndex, process);
            MemorySegment kind = PJRT_DeviceDescription_Kind_Args.in(scratch);
            PJRT_DeviceDescription_Kind_Args.device_description(kind, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_Kind, kind);
            MemorySegment debug = PJRT_DeviceDescription_DebugString_Args.in(scratch);
            PJRT_DeviceDescription_DebugString_Args.device_description(debug, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_DebugString, debug);
            MemorySegment name = PJRT_DeviceDescription_ToString_Args.in(scratch);
            PJRT_DeviceDescription_ToString_Args.device_description(name, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_ToString, name);
            MemorySegment attributes = PJRT_DeviceDescription_Attributes_Args.in(scratch);
            PJRT_DeviceDescription_Attributes_Args.device_description(attributes, description);
            api.call(PjrtFunction.PJRT_DeviceDescription_Attributes, attributes);
            return new DeviceDescription(
                    PJRT_DeviceDescription_Id_Args.id(id),
                    PJRT_DeviceDescription_ProcessIndex_Args.process_index(process),
                    Native.string(
                            PJRT_DeviceDescription_Kind_Args.device_kind(kind),
                            PJRT_DeviceDescription_Kind_Args.device_kind_size(kind)),
                    Native.string(
                            PJRT_DeviceDescription_DebugString_Args.debug_string(debug),
                            PJRT_DeviceDescription_DebugString_Args.debug_string_size(debug)),
                    Native.string(
                            PJRT_DeviceDescription_ToString_Args.to_string(name),
                            PJRT_DeviceDescription_ToString_Args.to_string_size(name)),
                    Api.namedValues(
                            PJRT_DeviceDescription_Attributes_Args.attributes(attributes),
                            PJRT_DeviceDescription_Attributes_Args.num_attributes(attributes)));
        }
    }
}
