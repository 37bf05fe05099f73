// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_DeviceId_To_MegascaleId_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_MegascaleId_To_DeviceId_Args;
import java.lang.foreign.MemorySegment;

/** The numbers by which devices of several slices are called across the network (the megascale extension, {@link Plugin#megascaleIds}). */
public final class MegascaleIds {

    private final Plugin plugin;

    MegascaleIds(Plugin plugin) {
        this.plugin = plugin;
    }

    /** A device of one of several slices. */
    public record Place(int slice, int device) {}

    /**
     * The number of a device.
     *
     * @throws UsageException.BadArgument if slice or device is negative
     */
    public long of(Place place) {
        if (place.slice() < 0 || place.device() < 0) {
            throw new UsageException.BadArgument(place + " is no device: slices and devices count from 0");
        }
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_DeviceId_To_MegascaleId_Args.in(scratch);
            PJRT_Megascale_DeviceId_To_MegascaleId_Args.slice_id(args, place.slice());
            PJRT_Megascale_DeviceId_To_MegascaleId_Args.per_slice_device_id(args, place.device());
            plugin.api().extension(Extension.MEGASCALE).call(PJRT_Megascale_Extension.device_id_to_megascale_id, args);
            return PJRT_Megascale_DeviceId_To_MegascaleId_Args.megascale_id(args);
        }
    }

    /** The device of a number. */
    public Place place(long id) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_MegascaleId_To_DeviceId_Args.in(scratch);
            PJRT_Megascale_MegascaleId_To_DeviceId_Args.megascale_id(args, id);
            plugin.api().extension(Extension.MEGASCALE).call(PJRT_Megascale_Extension.megascale_id_to_device_id, args);
            return new Place(
                    PJRT_Megascale_MegascaleId_To_DeviceId_Args.slice_id(args),
                    PJRT_Megascale_MegascaleId_To_DeviceId_Args.per_slice_device_id(args));
        }
    }
}
