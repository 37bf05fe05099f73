// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.DlPackExport;
import dev.slipway.runtime.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * DLPack: arrays handed to and taken from other libraries in this process without a copy, as {@code DLManagedTensor}s (version
 * 0.8's layout, which version 1 kept for this struct). Only for memory of the CPU.
 *
 * {@snippet :
 * long tensor = DlPack.export(buffer);         // for numpy, torch ... through their C interfaces
 * Buffer taken = DlPack.take(tensor, client);  // and back: the tensor's deleter is called when the buffer is closed
 * }
 */
public final class DlPack {

    /** {@code DLTensor}: data, device, rank, type, shape, strides, offset. */
    static final StructLayout TENSOR = MemoryLayout.structLayout(
                    ValueLayout.ADDRESS.withName("data"),
                    ValueLayout.JAVA_INT.withName("device_type"),
                    ValueLayout.JAVA_INT.withName("device_id"),
                    ValueLayout.JAVA_INT.withName("ndim"),
                    ValueLayout.JAVA_BYTE.withName("code"),
                    ValueLayout.JAVA_BYTE.withName("bits"),
                    ValueLayout.JAVA_SHORT.withName("lanes"),
                    ValueLayout.ADDRESS.withName("shape"),
                    ValueLayout.ADDRESS.withName("strides"),
                    ValueLayout.JAVA_LONG.withName("byte_offset"))
            .withName("DLTensor");

    /** {@code DLManagedTensor}: the tensor, a context, and what frees both. */
    static final StructLayout MANAGED = MemoryLayout.structLayout(
                    TENSOR, ValueLayout.ADDRESS.withName("manager_ctx"), ValueLayout.ADDRESS.withName("deleter"))
            .withName("DLManagedTensor");

    private static final int CPU = 1;

    private static final long DATA = offset("data");
    private static final long DEVICE_TYPE = offset("device_type");
    private static final long RANK = offset("ndim");
    private static final long CODE = offset("code");
    private static final long BITS = offset("bits");
    private static final long LANES = offset("lanes");
    private static final long SHAPE = offset("shape");
    private static final long STRIDES = offset("strides");
    private static final long BYTE_OFFSET = offset("byte_offset");
    private static final long DELETER = MANAGED.byteOffset(MemoryLayout.PathElement.groupElement("deleter"));

    private DlPack() {}

    private static long offset(String field) {
        return TENSOR.byteOffset(MemoryLayout.PathElement.groupElement(field));
    }

    /** A type's code and bits in DLPack. */
    private enum Code {
        INT(0),
        UINT(1),
        FLOAT(2),
        BFLOAT(4),
        COMPLEX(5),
        BOOL(6);

        private final int number;

        Code(int number) {
            this.number = number;
        }
    }

    private static Code code(ElementType type) {
        return switch (type) {
            case S8, S16, S32, S64 -> Code.INT;
            case U8, U16, U32, U64 -> Code.UINT;
            case F16, F32, F64 -> Code.FLOAT;
            case BF16 -> Code.BFLOAT;
            case C64, C128 -> Code.COMPLEX;
            case PRED -> Code.BOOL;
            default -> throw new UsageException.Unsupported("DLPack has no type for " + type);
        };
    }

    private static ElementType element(int code, int bits, int lanes) {
        for (ElementType type : ElementType.values()) {
            if (lanes == 1 && type.bits() == bits && type != ElementType.S1 && type != ElementType.U1) {
                try {
                    if (code(type).number == code) {
                        return type;
                    }
                } catch (UsageException.Unsupported e) {
                    // Not a type of DLPack's.
                }
            }
        }
        throw new UsageException.Unsupported("a DLPack tensor of type code " + code + ", " + bits + " bits, " + lanes
                + " lanes has no element type here");
    }

    /**
     * Hands a buffer out: the address of a {@code DLManagedTensor}. The data stays alive, and the buffer in use, until the taker
     * calls its deleter; the buffer itself is to be closed as ever.
     *
     * @throws UsageException.BadArgument if the data is not on the CPU, or lies in another order than major to minor
     * @throws UsageException.Unsupported if DLPack has no such type
     */
    public static long export(Buffer buffer) {
        TensorType type = buffer.type();
        Code code = code(type.element());
        int rank = type.dimensions().size();
        long[] order = buffer.minorToMajor();
        for (int i = 0; i < order.length; i++) {
            if (order[i] != rank - 1 - i) {
                throw new UsageException.BadArgument("the buffer's layout is " + buffer.layout()
                        + ": only arrays that lie major to minor are exported");
            }
        }
        Buffer.View view = buffer.view();
        // Kept by the release below until the taker is done.
        Arena arena = Arena.ofAuto();
        MemorySegment managed = arena.allocate(MANAGED.byteSize(), 64);
        managed.fill((byte) 0);
        long[] strides = new long[Math.max(1, rank)];
        MemorySegment shape = arena.allocate(Math.max(1, rank) * 8L, 8);
        long stride = 1;
        for (int i = rank - 1; i >= 0; i--) {
            shape.setAtIndex(ValueLayout.JAVA_LONG, i, type.dimensions().get(i));
            strides[i] = stride;
            stride *= type.dimensions().get(i);
        }
        managed.set(ValueLayout.JAVA_LONG, DATA, view.segment().address());
        managed.set(ValueLayout.JAVA_INT, DEVICE_TYPE, CPU);
        managed.set(ValueLayout.JAVA_INT, RANK, rank);
        managed.set(ValueLayout.JAVA_BYTE, CODE, (byte) code.number);
        managed.set(
                ValueLayout.JAVA_BYTE,
                BITS,
                (byte) type.element().hostBytes() == 1
                        ? (byte) 8
                        : (byte) type.element().bits());
        managed.set(ValueLayout.JAVA_SHORT, LANES, (short) 1);
        managed.set(ValueLayout.JAVA_LONG, SHAPE, shape.address());
        managed.set(
                ValueLayout.JAVA_LONG,
                STRIDES,
                arena.allocateFrom(ValueLayout.JAVA_LONG, strides).address());
        managed.set(ValueLayout.JAVA_LONG, DELETER, DlPackExport.deleter(managed.address(), () -> {
            view.close();
            managed.fill((byte) 0);
        }));
        return managed.address();
    }

    /**
     * Takes a tensor over: a buffer on its memory; its deleter is called when the plugin is done with that. The address is not to
     * be used by the caller any more.
     *
     * @param tensor address of a {@code DLManagedTensor}
     * @throws UsageException.BadArgument if it is not on the CPU, not dense, or not aligned to 64 bytes: it then stays the caller's
     */
    public static Buffer take(long tensor, Client client) {
        MemorySegment managed = MemorySegment.ofAddress(tensor).reinterpret(MANAGED.byteSize());
        if (managed.get(ValueLayout.JAVA_INT, DEVICE_TYPE) != CPU) {
            throw new UsageException.BadArgument("the DLPack tensor is on a device of type "
                    + managed.get(ValueLayout.JAVA_INT, DEVICE_TYPE) + ", and only the CPU's (1) are taken");
        }
        int rank = managed.get(ValueLayout.JAVA_INT, RANK);
        MemorySegment shape = longs(managed.get(ValueLayout.JAVA_LONG, SHAPE), rank);
        long strides = managed.get(ValueLayout.JAVA_LONG, STRIDES);
        List<Long> dimensions = new ArrayList<>();
        long dense = 1;
        for (int i = rank - 1; i >= 0; i--) {
            long size = shape.getAtIndex(ValueLayout.JAVA_LONG, i);
            if (strides != 0 && size > 1 && longs(strides, rank).getAtIndex(ValueLayout.JAVA_LONG, i) != dense) {
                throw new UsageException.BadArgument(
                        "the DLPack tensor has gaps or another order of dimensions: make it dense first");
            }
            dimensions.addFirst(size);
            dense *= size;
        }
        TensorType type = new TensorType(
                element(
                        managed.get(ValueLayout.JAVA_BYTE, CODE),
                        Byte.toUnsignedInt(managed.get(ValueLayout.JAVA_BYTE, BITS)),
                        managed.get(ValueLayout.JAVA_SHORT, LANES)),
                dimensions);
        long address = managed.get(ValueLayout.JAVA_LONG, DATA) + managed.get(ValueLayout.JAVA_LONG, BYTE_OFFSET);
        MemorySegment data = MemorySegment.ofAddress(address).reinterpret(type.hostBytes());
        long deleter = managed.get(ValueLayout.JAVA_LONG, DELETER);
        return client.viewOf(data, type, client.addressableDevices().getFirst(), () -> {
            if (deleter != 0) {
                Native.callVoid(MemorySegment.ofAddress(deleter), tensor);
            }
        });
    }

    private static MemorySegment longs(long address, int count) {
        return MemorySegment.ofAddress(address).reinterpret(count * 8L);
    }
}
