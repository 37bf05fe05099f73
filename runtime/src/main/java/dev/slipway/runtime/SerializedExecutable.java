// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.common.hash.Hashing;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An executable as bytes, in an envelope: a mark, a format version, the platform and its version, the plugin's bytes, and a
 * SHA-256 over all that. Plugins take serialized code on trust and crash on what is damaged or foreign, so nothing reaches one
 * before the envelope was checked.
 */
public final class SerializedExecutable {

    private static final long MARK = 0x534c_4950_5741_5901L;
    private static final int DIGEST = 32;

    private final Platform platform;
    private final byte[] code;

    SerializedExecutable(Platform platform, byte[] code) {
        this.platform = platform;
        this.code = code;
    }

    /** The platform that it is for. */
    public Platform platform() {
        return platform;
    }

    /** The plugin's bytes. */
    public byte[] code() {
        return code.clone();
    }

    byte[] bare() {
        return code;
    }

    /** The envelope with its content. */
    public byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(code.length + 256);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeLong(MARK);
            out.writeUTF(platform.name());
            out.writeUTF(platform.version());
            out.writeInt(code.length);
            out.write(code);
            out.write(Hashing.sha256().hashBytes(bytes.toByteArray()).asBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Opens an envelope.
     *
     * @throws UsageException.BadArgument if the bytes are no envelope, are of another format version, or were damaged
     */
    public static SerializedExecutable of(byte[] bytes) {
        if (bytes.length < Long.BYTES + DIGEST) {
            throw new UsageException.BadArgument(
                    "a serialized executable of " + bytes.length + " bytes is too short to be one");
        }
        int end = bytes.length - DIGEST;
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes, 0, end))) {
            long mark = in.readLong();
            if (mark >>> 8 != MARK >>> 8) {
                throw new UsageException.BadArgument("these bytes are no serialized executable of Slipway's");
            }
            if (mark != MARK) {
                throw new UsageException.BadArgument("this serialized executable has format version " + (mark & 0xff)
                        + ", and version " + (MARK & 0xff) + " is understood: compile again");
            }
            byte[] digest = Hashing.sha256().hashBytes(bytes, 0, end).asBytes();
            if (!Arrays.equals(digest, Arrays.copyOfRange(bytes, end, bytes.length))) {
                throw new UsageException.BadArgument(
                        "this serialized executable was damaged or cut: its SHA-256 does not match");
            }
            Platform platform = new Platform(in.readUTF(), in.readUTF());
            return new SerializedExecutable(platform, in.readNBytes(in.readInt()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SerializedExecutable that
                && platform.equals(that.platform)
                && Arrays.equals(code, that.code);
    }

    @Override
    public int hashCode() {
        return 31 * platform.hashCode() + Arrays.hashCode(code);
    }

    @Override
    public String toString() {
        return "SerializedExecutable[" + platform.name() + ", " + code.length + " bytes]";
    }
}
