// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/** The extensions of the PJRT C API, by the numbers of {@code PJRT_Extension_Type}. */
public enum Extension {
    /** Registers custom calls of GPUs, the old way. */
    GPU_CUSTOM_CALL(0),
    /** Collects profiles. */
    PROFILER(1),
    /** Registers partitioners of custom calls. */
    CUSTOM_PARTITIONER(2),
    /** Waits for buffers on a stream of the device. */
    STREAM(3),
    /** Layouts of buffers and executables. */
    LAYOUTS(4),
    /** Registers XLA FFI handlers and user data. */
    FFI(5),
    /** Memories of devices that are not there. */
    MEMORY_DESCRIPTIONS(6),
    /** Compiles Triton kernels. */
    TRITON(7),
    /** Raw bytes of device buffers. */
    RAW_BUFFER(8),
    /** Compiles phase by phase. */
    PHASE_COMPILE(9),
    /** An example for plugin authors. */
    EXAMPLE(10),
    /** A placeholder. */
    UNKNOWN(11),
    /** Sends buffers to other hosts. */
    CROSS_HOST_TRANSFERS(12),
    /** A serialized description of an executable. */
    EXECUTABLE_METADATA(13),
    /** Calls back on events of the runtime. */
    CALLBACK(14),
    /** Host memory that devices reach, the first way. */
    HOST_ALLOCATOR(15),
    /** Questions about TPU slices. */
    TPU_TOPOLOGY(16),
    /** Questions about TPU executables. */
    TPU_EXECUTABLE(17),
    /** Several slices over a data-centre network. */
    MEGASCALE(18),
    /** Shardings of parameters and results. */
    SHARDINGS(19),
    /** Whether an executable fits a runtime. */
    ABI_VERSION(20),
    /** Communicators of the CPU. */
    COLLECTIVES(21),
    /** How devices lie in slices. */
    MULTI_SLICE(22),
    /** Host memory that devices reach. */
    HOST_MEMORY_ALLOCATOR(23),
    /** Hooks into XLA's passes. */
    XLA_TRANSFORM(24);

    private final int code;

    Extension(int code) {
        this.code = code;
    }

    /** The constant of {@code PJRT_Extension_Type}. */
    public int code() {
        return code;
    }
}
