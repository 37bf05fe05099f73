// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/**
 * Where a program's random numbers come from. Keys are JAX's: {@code rbg} keys {@code ui32[4]} are two threefry2x32 keys
 * side by side, which threefry splits and XLA's bit generator draws from; {@code threefry2x32} keys are {@code ui32[2]}.
 */
public enum RandomSource {
    /** {@code rbg} keys, the generator that XLA's backend prefers, as JAX has it: Philox on CPU and GPU, another on TPU. */
    RBG(4),
    /** {@code rbg} keys, Philox 4x32 with 10 rounds whatever the backend: the same tokens on a TPU and a CPU. */
    PHILOX(4),
    /** {@code rbg} keys, XLA's Threefry generator whatever the backend. */
    THREE_FRY(4),
    /** {@code threefry2x32} keys and bits, in plain arithmetic: JAX's default, the same everywhere. */
    THREEFRY2X32(2);

    private final int keyWords;

    RandomSource(int keyWords) {
        this.keyWords = keyWords;
    }

    /** How many {@code ui32} words a key has. */
    public int keyWords() {
        return keyWords;
    }

    /** The key that JAX makes of a seed: its high and low word, twice for an {@code rbg} key. */
    public int[] key(long seed) {
        int[] key = new int[keyWords];
        for (int i = 0; i < keyWords; i++) {
            key[i] = (int) (i % 2 == 0 ? seed >>> 32 : seed);
        }
        return key;
    }
}
