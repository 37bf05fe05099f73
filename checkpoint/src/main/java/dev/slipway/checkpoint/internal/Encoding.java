// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * How numbers lie in a file: in blocks of {@link #numbers} that take {@link #bytes}. Block layouts are ggml's; each
 * product and sum below is rounded to float32 where the {@code gguf} package rounds it, so that results are equal to the
 * last bit.
 */
enum Encoding {
    F32(1, 4) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int i = 0; i < blocks; i++) {
                to[i] = (float) FLOAT.get(raw, 4 * i);
            }
        }
    },
    F16(1, 2) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int i = 0; i < blocks; i++) {
                to[i] = half(raw, 2 * i);
            }
        }
    },
    BF16(1, 2) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int i = 0; i < blocks; i++) {
                to[i] = Float.intBitsToFloat((short) SHORT.get(raw, 2 * i) << 16);
            }
        }
    },
    F64(1, 8) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int i = 0; i < blocks; i++) {
                to[i] = (float) (double) DOUBLE.get(raw, 8 * i);
            }
        }
    },
    /** {@code d, 16 x 2 nibbles}: {@code d * (q - 8)}. */
    Q4_0(32, 18) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 18, out += 32) {
                float d = half(raw, at);
                for (int i = 0; i < 16; i++) {
                    int q = raw[at + 2 + i];
                    to[out + i] = d * ((q & 15) - 8);
                    to[out + 16 + i] = d * ((q >> 4 & 15) - 8);
                }
            }
        }
    },
    /** {@code d, m, 16 x 2 nibbles}: {@code d * q + m}. */
    Q4_1(32, 20) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 20, out += 32) {
                float d = half(raw, at);
                float m = half(raw, at + 2);
                for (int i = 0; i < 16; i++) {
                    int q = raw[at + 4 + i];
                    to[out + i] = d * (q & 15) + m;
                    to[out + 16 + i] = d * (q >> 4 & 15) + m;
                }
            }
        }
    },
    /** {@code d, 32 high bits, 16 x 2 nibbles}: {@code d * (q - 16)}. */
    Q5_0(32, 22) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 22, out += 32) {
                float d = half(raw, at);
                int high = (int) INT.get(raw, at + 2);
                for (int i = 0; i < 16; i++) {
                    int q = raw[at + 6 + i];
                    to[out + i] = d * (((q & 15) | (high >>> i & 1) << 4) - 16);
                    to[out + 16 + i] = d * (((q >> 4 & 15) | (high >>> (16 + i) & 1) << 4) - 16);
                }
            }
        }
    },
    /** {@code d, m, 32 high bits, 16 x 2 nibbles}: {@code d * q + m}. */
    Q5_1(32, 24) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 24, out += 32) {
                float d = half(raw, at);
                float m = half(raw, at + 2);
                int high = (int) INT.get(raw, at + 4);
                for (int i = 0; i < 16; i++) {
                    int q = raw[at + 8 + i];
                    to[out + i] = d * ((q & 15) | (high >>> i & 1) << 4) + m;
                    to[out + 16 + i] = d * ((q >> 4 & 15) | (high >>> (16 + i) & 1) << 4) + m;
                }
            }
        }
    },
    /** {@code d, 32 bytes}: {@code d * q}. */
    Q8_0(32, 34) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 34, out += 32) {
                float d = half(raw, at);
                for (int i = 0; i < 32; i++) {
                    to[out + i] = d * raw[at + 2 + i];
                }
            }
        }
    },
    /** 16 sub-blocks of 16: {@code 16 x (scale, min) nibbles, 64 x 4 crumbs, d, dmin}. */
    Q2_K(256, 84) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 84, out += 256) {
                float d = half(raw, at + 80);
                float min = half(raw, at + 82);
                for (int sub = 0; sub < 16; sub++) {
                    int scales = raw[at + sub];
                    float scale = d * (scales & 15);
                    float offset = min * (scales >> 4 & 15);
                    int quarter = at + 16 + sub / 8 * 32 + sub % 2 * 16;
                    int shift = sub / 2 % 4 * 2;
                    for (int i = 0; i < 16; i++) {
                        to[out + 16 * sub + i] = scale * (raw[quarter + i] >> shift & 3) - offset;
                    }
                }
            }
        }
    },
    /** 16 sub-blocks of 16: {@code 256 high bits, 64 x 4 crumbs, 16 scales of 6 bits, d}. */
    Q3_K(256, 110) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 110, out += 256) {
                float d = half(raw, at + 108);
                for (int sub = 0; sub < 16; sub++) {
                    int low = raw[at + 96 + sub % 8] >> (sub / 8 * 4) & 15;
                    int high = raw[at + 104 + sub % 4] >> (sub / 4 * 2) & 3;
                    float scale = d * ((low | high << 4) - 32);
                    int quarter = at + 32 + sub / 8 * 32 + sub % 2 * 16;
                    int shift = sub / 2 % 4 * 2;
                    int mask = at + sub % 2 * 16;
                    for (int i = 0; i < 16; i++) {
                        int bit = raw[mask + i] >> (sub / 2) & 1;
                        to[out + 16 * sub + i] = scale * ((raw[quarter + i] >> shift & 3) - (bit == 0 ? 4 : 0));
                    }
                }
            }
        }
    },
    /** 8 sub-blocks of 32: {@code d, dmin, 8 x (scale, min) of 6 bits, 128 x 2 nibbles}. */
    Q4_K(256, 144) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 144, out += 256) {
                float d = half(raw, at);
                float min = half(raw, at + 2);
                for (int sub = 0; sub < 8; sub++) {
                    float scale = d * sixBits(raw, at + 4, sub);
                    float offset = min * sixBits(raw, at + 4, 8 + sub);
                    int nibbles = at + 16 + sub / 2 * 32;
                    int shift = sub % 2 * 4;
                    for (int i = 0; i < 32; i++) {
                        to[out + 32 * sub + i] = scale * (raw[nibbles + i] >> shift & 15) - offset;
                    }
                }
            }
        }
    },
    /** As Q4_K with 256 high bits before the nibbles. */
    Q5_K(256, 176) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 176, out += 256) {
                float d = half(raw, at);
                float min = half(raw, at + 2);
                for (int sub = 0; sub < 8; sub++) {
                    float scale = d * sixBits(raw, at + 4, sub);
                    float offset = min * sixBits(raw, at + 4, 8 + sub);
                    int nibbles = at + 48 + sub / 2 * 32;
                    int shift = sub % 2 * 4;
                    for (int i = 0; i < 32; i++) {
                        int q = (raw[nibbles + i] >> shift & 15) | (raw[at + 16 + i] >> sub & 1) << 4;
                        to[out + 32 * sub + i] = scale * q - offset;
                    }
                }
            }
        }
    },
    /** 16 sub-blocks of 16: {@code 128 x 2 nibbles, 64 x 4 crumbs, 16 scales, d}: {@code d * scale * (q - 32)}. */
    Q6_K(256, 210) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 210, out += 256) {
                float d = half(raw, at + 208);
                for (int sub = 0; sub < 16; sub++) {
                    float scale = d * raw[at + 192 + sub];
                    int part = sub % 8;
                    int low = at + sub / 8 * 64 + part % 4 * 16;
                    int high = at + 128 + sub / 8 * 32 + part % 2 * 16;
                    int lowShift = part / 4 * 4;
                    int highShift = part / 2 * 2;
                    for (int i = 0; i < 16; i++) {
                        int q = (raw[low + i] >> lowShift & 15) | (raw[high + i] >> highShift & 3) << 4;
                        to[out + 16 * sub + i] = scale * (q - 32);
                    }
                }
            }
        }
    },
    /** {@code d, 16 x 2 nibbles}: {@code d * UNEVEN[q]}. */
    IQ4_NL(32, 18) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 18, out += 32) {
                uneven(raw, at + 2, half(raw, at), to, out);
            }
        }
    },
    /** 8 sub-blocks of 32: {@code d, 8 high crumbs and 8 low nibbles of scales, 128 x 2 nibbles}. */
    IQ4_XS(256, 136) {
        @Override
        void decode(byte[] raw, int blocks, float[] to) {
            for (int b = 0, at = 0, out = 0; b < blocks; b++, at += 136, out += 256) {
                float d = half(raw, at);
                int highs = (short) SHORT.get(raw, at + 2);
                for (int sub = 0; sub < 8; sub++) {
                    int low = raw[at + 4 + sub / 2] >> (sub % 2 * 4) & 15;
                    int scale = (low | (highs >> (2 * sub) & 3) << 4) - 32;
                    uneven(raw, at + 8 + 16 * sub, d * scale, to, out + 32 * sub);
                }
            }
        }
    };

    private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle FLOAT = MethodHandles.byteArrayViewVarHandle(float[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle DOUBLE =
            MethodHandles.byteArrayViewVarHandle(double[].class, ByteOrder.LITTLE_ENDIAN);

    /** What the nibbles of IQ4_NL and IQ4_XS stand for: steps that widen away from zero. */
    private static final byte[] UNEVEN = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

    private final int numbers;
    private final int bytes;

    Encoding(int numbers, int bytes) {
        this.numbers = numbers;
        this.bytes = bytes;
    }

    /** Numbers in a block. */
    int numbers() {
        return numbers;
    }

    /** Bytes of a block. */
    int bytes() {
        return bytes;
    }

    /** Decodes {@code blocks} whole blocks from the beginning of {@code raw} to the beginning of {@code to}. */
    abstract void decode(byte[] raw, int blocks, float[] to);

    /** 32 numbers of 16 bytes, the low nibbles first. */
    private static void uneven(byte[] raw, int at, float scale, float[] to, int out) {
        for (int i = 0; i < 16; i++) {
            to[out + i] = scale * UNEVEN[raw[at + i] & 15];
            to[out + 16 + i] = scale * UNEVEN[raw[at + i] >> 4 & 15];
        }
    }

    private static float half(byte[] raw, int at) {
        return Float.float16ToFloat((short) SHORT.get(raw, at));
    }

    /** One of 16 six-bit numbers in 12 bytes: 8 scales, then 8 minima. */
    private static int sixBits(byte[] raw, int at, int index) {
        int column = index % 4;
        int low = raw[at + column + index / 8 * 4];
        if (index % 8 < 4) {
            return low & 63;
        }
        return (raw[at + 8 + column] >> (index / 8 * 4) & 15) | (low >> 6 & 3) << 4;
    }
}
