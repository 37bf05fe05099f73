// SPDX-License-Identifier: Apache-2.0

/**
 * What machines exist: TPU slices, GPU hosts and this CPU, with their chips' figures and every device's place. Pure Java, and
 * exact: device lists are those of libtpu in every field.
 *
 * <h2>In short</h2>
 *
 * {@snippet :
 * Topology two = Topologies.resolve("v5e-16", 2);
 * assertThat(two.deviceCount()).isEqualTo(32);
 * assertThat(two.devices().get(2).coords()).isEqualTo(new Coords(0, 1, 0));
 * assertThat(two.chip().hbmBytesPerDevice()).isEqualTo(16L << 30);
 *
 * switch (two.plugin()) { // what a PJRT plugin has to be told
 *     case PluginSpec.Tpu tpu -> assertThat(tpu.topologyName()).isEqualTo("v5e:4x4");
 *     case PluginSpec.Gpu gpu -> assertThat(gpu.targetConfig()).contains("CUDA");
 *     case PluginSpec.Cpu cpu -> assertThat(cpu.deviceCount()).isPositive();
 * }
 * }
 *
 * <h2>Names</h2>
 *
 * <table>
 * <caption>What {@link dev.slipway.topology.Topologies#resolve} understands</caption>
 * <tr><th>name<th>machine
 * <tr><td>{@code v5e-16}, {@code v5p-8}, {@code 7x-128}<td>a catalogued TPU slice. v4 and v5p count cores (two a chip), 7x counts
 *     devices (two a chip), v5e and v6e count chips
 * <tr><td>{@code v4-384}<td>known to MaxText only
 * <tr><td>{@code v6e-8-1}<td>eight chips in one host instead of two
 * <tr><td>{@code v5p:4x4x8}<td>a shape in full; takes the catalogue's name where there is one, here v5p-256
 * <tr><td>{@code h100-8}, {@code h100-8x4}<td>GPUs in one host, in four hosts
 * <tr><td>{@code cpu}, {@code cpu-8}<td>this machine, as one device or several virtual ones
 * <tr><td>{@code v5litepod-16}, {@code tpu-v5p-8}, {@code ct5lp-hightpu-4t}, {@code a3-highgpu-8g}<td>other people's names for
 *     these
 * </table>
 *
 * <p>A machine of one's own is described in JSON:
 *
 * {@snippet :
 * Topology mine = Topologies.fromJson("""
 *         {"name": "mine", "chip": "v5e", "slices": 2, "slice": [4, 6, 1], "host": [2, 2, 1], "wrap": [false, false, false]}
 *         """);
 * assertThat(Topologies.fromJson(Topologies.toJson(mine))).isEqualTo(mine);
 * }
 *
 * <h2>Slices, hosts, devices</h2>
 *
 * <p>A slice is what the fast interconnect joins: a TPU slice by ICI, GPUs of one NVLink domain. Slices are joined by the
 * data-centre network. A slice is a box of chips, tiled by boxes that hosts hold; lists go slice by slice, host by host (x
 * fastest), chip by chip (x fastest), device by device. Ids of TPUs count chips of a slice row by row, so they are not in list
 * order once a slice is wider than a host; with several slices, those of slice s begin at 100000 (s + 1).
 *
 * <p>Everything follows from a few rules, so a {@code Topology} is a small value whatever the machine's size: the shape of a v4,
 * v5p or 7x slice of n 4x4x4 cubes is the box nearest to a cube ({@code src/main/spec/chips.json} has the sizes and all figures with
 * their sources).
 *
 * <h2>Errors</h2>
 *
 * <table>
 * <caption>All extend {@code TopologyException}, an {@code IllegalArgumentException}</caption>
 * <tr><th>type<th>when
 * <tr><td>{@link dev.slipway.topology.UnknownTopologyException}<td>no machine has the name; has the three nearest
 * <tr><td>{@link dev.slipway.topology.InvalidTopologyException}<td>hosts that do not tile a slice, fewer than one slice, a
 *     malformed description
 * </table>
 */
package dev.slipway.topology;
