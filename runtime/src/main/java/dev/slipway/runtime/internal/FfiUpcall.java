// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.FfiHandler;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.XLA_FFI_Api;
import dev.slipway.runtime.internal.abi.XLA_FFI_Api_Version;
import dev.slipway.runtime.internal.abi.XLA_FFI_Args;
import dev.slipway.runtime.internal.abi.XLA_FFI_Array;
import dev.slipway.runtime.internal.abi.XLA_FFI_AttrType;
import dev.slipway.runtime.internal.abi.XLA_FFI_Attrs;
import dev.slipway.runtime.internal.abi.XLA_FFI_Buffer;
import dev.slipway.runtime.internal.abi.XLA_FFI_ByteSpan;
import dev.slipway.runtime.internal.abi.XLA_FFI_CallFrame;
import dev.slipway.runtime.internal.abi.XLA_FFI_DataType;
import dev.slipway.runtime.internal.abi.XLA_FFI_Error_Code;
import dev.slipway.runtime.internal.abi.XLA_FFI_Error_Create_Args;
import dev.slipway.runtime.internal.abi.XLA_FFI_ExecutionStage;
import dev.slipway.runtime.internal.abi.XLA_FFI_Extension_Base;
import dev.slipway.runtime.internal.abi.XLA_FFI_Extension_Type;
import dev.slipway.runtime.internal.abi.XLA_FFI_Metadata;
import dev.slipway.runtime.internal.abi.XLA_FFI_Metadata_Extension;
import dev.slipway.runtime.internal.abi.XLA_FFI_Rets;
import dev.slipway.runtime.internal.abi.XLA_FFI_Scalar;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Turns the call frames of XLA FFI into calls of a Java handler. */
public final class FfiUpcall {

    private final FfiHandler handler;

    private FfiUpcall(FfiHandler handler) {
        this.handler = handler;
    }

    /** The C function that calls {@code handler}; it lives as long as the process, as registrations do. */
    public static MemorySegment stub(FfiHandler handler) {
        return Native.upcall(
                MethodHandles.lookup(),
                new FfiUpcall(handler),
                "call",
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    }

    @SuppressWarnings("unused") // called from C
    private long call(long address) {
        MemorySegment frame = Native.at(address, XLA_FFI_CallFrame.LAYOUT.byteSize());
        try {
            if (answerMetadata(frame)) {
                return 0;
            }
            if (XLA_FFI_CallFrame.stage(frame) != XLA_FFI_ExecutionStage.EXECUTE) {
                return 0;
            }
            handler.call(new FfiHandler.Call(
                    arguments(XLA_FFI_CallFrame.args(frame)),
                    results(XLA_FFI_CallFrame.rets(frame)),
                    attributes(XLA_FFI_CallFrame.attrs(frame))));
            return 0;
        } catch (Throwable e) {
            // Nothing may be thrown into C: whatever comes is the run's error.
            return error(frame, e);
        }
    }

    /** XLA asks a handler at registration which version of FFI it speaks: that of the frame it asks with. */
    private static boolean answerMetadata(MemorySegment frame) {
        for (long next = XLA_FFI_CallFrame.extension_start(frame); next != 0; ) {
            MemorySegment base = Native.at(next, XLA_FFI_Extension_Base.SIZE);
            if (XLA_FFI_Extension_Base.type(base) == XLA_FFI_Extension_Type.Metadata) {
                MemorySegment extension = Native.at(next, XLA_FFI_Metadata_Extension.SIZE);
                MemorySegment metadata =
                        Native.at(XLA_FFI_Metadata_Extension.metadata(extension), XLA_FFI_Metadata.LAYOUT.byteSize());
                MemorySegment version = XLA_FFI_Metadata.api_version(metadata);
                MemorySegment api = Native.at(XLA_FFI_CallFrame.api(frame), XLA_FFI_Api.LAYOUT.byteSize());
                MemorySegment spoken = XLA_FFI_Api.api_version(api);
                XLA_FFI_Api_Version.major_version(version, XLA_FFI_Api_Version.major_version(spoken));
                XLA_FFI_Api_Version.minor_version(version, XLA_FFI_Api_Version.minor_version(spoken));
                XLA_FFI_Metadata.traits(metadata, 0);
                return true;
            }
            next = XLA_FFI_Extension_Base.next(base);
        }
        return false;
    }

    private static List<FfiHandler.Array> arguments(MemorySegment args) {
        long[] buffers = Native.longs(XLA_FFI_Args.args(args), XLA_FFI_Args.size(args));
        List<FfiHandler.Array> arrays = new ArrayList<>();
        for (long buffer : buffers) {
            FfiHandler.Array array = array(buffer);
            arrays.add(new FfiHandler.Array(array.type(), array.data().asReadOnly()));
        }
        return arrays;
    }

    private static List<FfiHandler.Array> results(MemorySegment rets) {
        List<FfiHandler.Array> arrays = new ArrayList<>();
        for (long buffer : Native.longs(XLA_FFI_Rets.rets(rets), XLA_FFI_Rets.size(rets))) {
            arrays.add(array(buffer));
        }
        return arrays;
    }

    private static FfiHandler.Array array(long address) {
        MemorySegment buffer = Native.at(address, XLA_FFI_Buffer.SIZE);
        TensorType type = TensorType.of(
                elementType(XLA_FFI_Buffer.dtype(buffer)),
                Native.longs(XLA_FFI_Buffer.dims(buffer), XLA_FFI_Buffer.rank(buffer)));
        return new FfiHandler.Array(type, Native.at(XLA_FFI_Buffer.data(buffer), type.hostBytes()));
    }

    private static Map<String, Object> attributes(MemorySegment attrs) {
        Map<String, Object> map = new LinkedHashMap<>();
        long count = XLA_FFI_Attrs.size(attrs);
        int[] types = Native.ints(XLA_FFI_Attrs.types(attrs), count);
        long[] names = Native.longs(XLA_FFI_Attrs.names(attrs), count);
        long[] values = Native.longs(XLA_FFI_Attrs.attrs(attrs), count);
        for (int i = 0; i < count; i++) {
            map.put(span(names[i]), attribute(types[i], values[i]));
        }
        return map;
    }

    private static String span(long address) {
        MemorySegment span = Native.at(address, XLA_FFI_ByteSpan.SIZE);
        return Native.string(XLA_FFI_ByteSpan.ptr(span), XLA_FFI_ByteSpan.len(span));
    }

    private static Object attribute(int type, long address) {
        return switch (type) {
            case XLA_FFI_AttrType.STRING -> span(address);
            case XLA_FFI_AttrType.DICTIONARY -> attributes(Native.at(address, XLA_FFI_Attrs.SIZE));
            case XLA_FFI_AttrType.SCALAR -> {
                MemorySegment scalar = Native.at(address, XLA_FFI_Scalar.LAYOUT.byteSize());
                Object one = numbers(XLA_FFI_Scalar.dtype(scalar), XLA_FFI_Scalar.value(scalar), 1);
                yield java.lang.reflect.Array.get(one, 0);
            }
            case XLA_FFI_AttrType.ARRAY -> {
                MemorySegment array = Native.at(address, XLA_FFI_Array.LAYOUT.byteSize());
                yield numbers(XLA_FFI_Array.dtype(array), XLA_FFI_Array.data(array), XLA_FFI_Array.size(array));
            }
            default -> throw new UsageException.Unsupported("an FFI attribute of unknown type " + type);
        };
    }

    private static Object numbers(int dtype, long address, long count) {
        return switch (elementType(dtype)) {
            case PRED -> {
                byte[] bytes = Native.bytes(address, count);
                boolean[] flags = new boolean[bytes.length];
                for (int i = 0; i < bytes.length; i++) {
                    flags[i] = bytes[i] != 0;
                }
                yield flags;
            }
            case S8, U8 -> Native.bytes(address, count);
            case S16, U16 -> Native.at(address, count * Short.BYTES).toArray(ValueLayout.JAVA_SHORT);
            case S32, U32 -> Native.ints(address, count);
            case S64, U64 -> Native.longs(address, count);
            case F32 -> Native.at(address, count * Float.BYTES).toArray(ValueLayout.JAVA_FLOAT);
            case F64 -> Native.at(address, count * Double.BYTES).toArray(ValueLayout.JAVA_DOUBLE);
            default -> throw new UsageException.Unsupported("an FFI attribute of type " + elementType(dtype));
        };
    }

    /** XLA's numbers, which are not PJRT's. */
    static ElementType elementType(int dtype) {
        return switch (dtype) {
            case XLA_FFI_DataType.PRED -> ElementType.PRED;
            case XLA_FFI_DataType.S1 -> ElementType.S1;
            case XLA_FFI_DataType.S2 -> ElementType.S2;
            case XLA_FFI_DataType.S4 -> ElementType.S4;
            case XLA_FFI_DataType.S8 -> ElementType.S8;
            case XLA_FFI_DataType.S16 -> ElementType.S16;
            case XLA_FFI_DataType.S32 -> ElementType.S32;
            case XLA_FFI_DataType.S64 -> ElementType.S64;
            case XLA_FFI_DataType.U1 -> ElementType.U1;
            case XLA_FFI_DataType.U2 -> ElementType.U2;
            case XLA_FFI_DataType.U4 -> ElementType.U4;
            case XLA_FFI_DataType.U8 -> ElementType.U8;
            case XLA_FFI_DataType.U16 -> ElementType.U16;
            case XLA_FFI_DataType.U32 -> ElementType.U32;
            case XLA_FFI_DataType.U64 -> ElementType.U64;
            case XLA_FFI_DataType.F16 -> ElementType.F16;
            case XLA_FFI_DataType.F32 -> ElementType.F32;
            case XLA_FFI_DataType.F64 -> ElementType.F64;
            case XLA_FFI_DataType.BF16 -> ElementType.BF16;
            case XLA_FFI_DataType.C64 -> ElementType.C64;
            case XLA_FFI_DataType.C128 -> ElementType.C128;
            case XLA_FFI_DataType.TOKEN -> ElementType.TOKEN;
            case XLA_FFI_DataType.F8E5M2 -> ElementType.F8E5M2;
            case XLA_FFI_DataType.F8E3M4 -> ElementType.F8E3M4;
            case XLA_FFI_DataType.F8E4M3 -> ElementType.F8E4M3;
            case XLA_FFI_DataType.F8E4M3FN -> ElementType.F8E4M3FN;
            case XLA_FFI_DataType.F8E4M3B11FNUZ -> ElementType.F8E4M3B11FNUZ;
            case XLA_FFI_DataType.F8E5M2FNUZ -> ElementType.F8E5M2FNUZ;
            case XLA_FFI_DataType.F8E4M3FNUZ -> ElementType.F8E4M3FNUZ;
            case XLA_FFI_DataType.F4E2M1FN -> ElementType.F4E2M1FN;
            case XLA_FFI_DataType.F8E8M0FNU -> ElementType.F8E8M0FNU;
            default -> throw new UsageException.Unsupported("an FFI array of unknown type " + dtype);
        };
    }

    private static long error(MemorySegment frame, Throwable e) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = XLA_FFI_Error_Create_Args.in(arena);
            XLA_FFI_Error_Create_Args.message(
                    args, arena.allocateFrom(String.valueOf(e)).address());
            XLA_FFI_Error_Create_Args.errc(args, XLA_FFI_Error_Code.INTERNAL);
            long create = Native.at(XLA_FFI_CallFrame.api(frame), XLA_FFI_Api.LAYOUT.byteSize())
                    .get(ValueLayout.JAVA_LONG, XLA_FFI_Api.XLA_FFI_Error_Create);
            return Native.call(MemorySegment.ofAddress(create), args.address());
        }
    }
}
