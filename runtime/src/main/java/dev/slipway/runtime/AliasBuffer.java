// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Client_CreateAliasBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_FulfillAliasBuffer_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A buffer that stands for one which is not there yet, so that programs can be started on it (plugins since 0.77). It is fulfilled
 * once, by a buffer or an error.
 *
 * @see Client#alias
 */
public final class AliasBuffer {

    private final Client client;
    private final Buffer buffer;
    private final long callback;
    private final AtomicBoolean fulfilled = new AtomicBoolean();

    private AliasBuffer(Client client, Buffer buffer, long callback) {
        this.client = client;
        this.buffer = buffer;
        this.callback = callback;
    }

    static AliasBuffer create(Client client, TensorType type, Memory memory) {
        return client.handle().use((api, scratch, address) -> {
            MemorySegment args = PJRT_Client_CreateAliasBuffer_Args.in(scratch);
            PJRT_Client_CreateAliasBuffer_Args.client(args, address);
            PJRT_Client_CreateAliasBuffer_Args.memory(args, memory.address());
            PJRT_Client_CreateAliasBuffer_Args.shape_dims(
                    args, Client.dimensions(scratch, type).address());
            PJRT_Client_CreateAliasBuffer_Args.shape_num_dims(
                    args, type.dimensions().size());
            PJRT_Client_CreateAliasBuffer_Args.shape_element_type(
                    args, type.element().code());
            PJRT_Client_CreateAliasBuffer_Args.shape_layout(
                    args,
                    Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address());
            api.call(PjrtFunction.PJRT_Client_CreateAliasBuffer, args);
            return new AliasBuffer(
                    client,
                    new Buffer(client, PJRT_Client_CreateAliasBuffer_Args.alias_buffer(args)),
                    PJRT_Client_CreateAliasBuffer_Args.fulfill_alias_buffer_cb(args));
        });
    }

    /** The buffer that stands for the other; to be closed by the caller. */
    public Buffer buffer() {
        return buffer;
    }

    /** Says which buffer it stands for; that one stays the caller's. */
    public void fulfill(Buffer by) {
        if (by.client() != client) {
            throw new UsageException.Foreign(by + " belongs to another client");
        }
        by.handle().use((_, _, address) -> {
            once();
            call(address, 0, "");
            return null;
        });
    }

    /** Says that there will be none: what was started on it gets this error. */
    public void fail(int statusCode, String message) {
        StatusException.checkCode(statusCode);
        once();
        call(0, statusCode, message);
    }

    private void once() {
        if (fulfilled.getAndSet(true)) {
            throw new UsageException.Closed("this alias was fulfilled already");
        }
    }

    private void call(long by, int code, String message) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        client.handle().use((api, scratch, address) -> {
            MemorySegment args = PJRT_Client_FulfillAliasBuffer_Args.in(scratch);
            PJRT_Client_FulfillAliasBuffer_Args.client(args, address);
            PJRT_Client_FulfillAliasBuffer_Args.buffer(args, by);
            PJRT_Client_FulfillAliasBuffer_Args.status_code(args, code);
            PJRT_Client_FulfillAliasBuffer_Args.error_message(
                    args, Native.bytes(scratch, text).address());
            PJRT_Client_FulfillAliasBuffer_Args.error_message_size(args, text.length);
            PJRT_Client_FulfillAliasBuffer_Args.fulfill_alias_buffer_cb(args, callback);
            api.call(PjrtFunction.PJRT_Client_FulfillAliasBuffer, args);
            return null;
        });
    }
}
