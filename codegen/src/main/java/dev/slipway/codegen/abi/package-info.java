// SPDX-License-Identifier: Apache-2.0

/**
 * From the ABI table of the PJRT C API to Java.
 *
 * <p>{@link dev.slipway.codegen.abi.AbiTable} reads {@code runtime/src/main/spec/pjrt-abi.txt} and lays the structs out by
 * the LP64 rules of C; {@link dev.slipway.codegen.abi.AbiGenerator} writes, for each struct, a class with its layout, its
 * size and an accessor pair per field, and for {@code PJRT_Api} an enum of its slots. Output is sorted and stable: the same
 * table gives the same files, byte for byte.
 */
package dev.slipway.codegen.abi;
