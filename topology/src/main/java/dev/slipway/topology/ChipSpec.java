// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.List;

/**
 * A chip and its public figures. All figures are per chip and in plain units (bytes, bytes per second, operations per
 * second); a figure that is not published, or has no meaning for the chip, is 0.
 *
 * @param name short name, such as {@code v5e} or {@code h100}
 * @param product the vendor's name for it
 * @param deviceKind what the plugin reports as the device's kind
 * @param year year of general availability
 * @param cores TensorCores of a TPU, streaming multiprocessors of a GPU
 * @param devicesPerChip how many devices the plugin lists for one chip
 * @param hbmBytes high-bandwidth memory
 * @param hbmBytesPerSecond its bandwidth
 * @param bf16FlopsPerSecond peak dense bfloat16 rate, a multiply-add being two operations
 * @param int8OpsPerSecond peak dense int8 rate
 * @param fp8FlopsPerSecond peak dense 8-bit floating-point rate
 * @param links inter-chip links (ICI or NVLink) of one chip
 * @param linkBytesPerSecond bandwidth of one link in one direction
 * @param dcnBytesPerSecondPerHost bandwidth of a host to the data-centre network in one direction
 * @param sources where the figures come from
 * @param accelerator what belongs to its platform only
 */
public record ChipSpec(
        String name,
        String product,
        String deviceKind,
        int year,
        int cores,
        int devicesPerChip,
        long hbmBytes,
        double hbmBytesPerSecond,
        double bf16FlopsPerSecond,
        double int8OpsPerSecond,
        double fp8FlopsPerSecond,
        int links,
        double linkBytesPerSecond,
        double dcnBytesPerSecondPerHost,
        List<String> sources,
        Accelerator accelerator) {

    /** @throws InvalidTopologyException if the chip has no name, holds no device or has a figure below 0 or without end */
    public ChipSpec {
        sources = List.copyOf(sources);
        if (name.isBlank()) {
            throw new InvalidTopologyException("A chip needs a name");
        }
        if (devicesPerChip < 1) {
            throw new InvalidTopologyException(
                    "Chip " + name + " has devices_per_chip " + devicesPerChip + ": at least 1 was expected");
        }
        figure(name, "hbm_bytes", hbmBytes);
        figure(name, "hbm_bytes_per_second", hbmBytesPerSecond);
        figure(name, "bf16_flops_per_second", bf16FlopsPerSecond);
        figure(name, "int8_ops_per_second", int8OpsPerSecond);
        figure(name, "fp8_flops_per_second", fp8FlopsPerSecond);
        figure(name, "links", links);
        figure(name, "link_bytes_per_second", linkBytesPerSecond);
        figure(name, "dcn_bytes_per_second_per_host", dcnBytesPerSecondPerHost);
    }

    static void figure(String chip, String figure, Number value) {
        if (!(value.doubleValue() >= 0 && value.doubleValue() < Double.POSITIVE_INFINITY)) {
            throw new InvalidTopologyException("Chip %s has %s %s: a number from 0 on was expected, 0 for not known"
                    .formatted(chip, figure, value));
        }
    }

    public Platform platform() {
        return switch (accelerator) {
            case Accelerator.Tpu _ -> Platform.TPU;
            case Accelerator.Gpu _ -> Platform.GPU;
            case Accelerator.Cpu _ -> Platform.CPU;
        };
    }

    /** Memory that one device of the chip can use, in bytes. */
    public long hbmBytesPerDevice() {
        return hbmBytes / devicesPerChip;
    }

    /** Memory bandwidth that one device of the chip has, in bytes per second. */
    public double hbmBytesPerSecondPerDevice() {
        return hbmBytesPerSecond / devicesPerChip;
    }

    /** Peak bfloat16 rate of one device of the chip, in operations per second. */
    public double bf16FlopsPerSecondPerDevice() {
        return bf16FlopsPerSecond / devicesPerChip;
    }
}
