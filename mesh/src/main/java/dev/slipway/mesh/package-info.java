// SPDX-License-Identifier: Apache-2.0

/**
 * How logical axes lie on the devices of a topology, and tensors on a mesh. Pure Java, and exact: device orders are those of
 * JAX's {@code mesh_utils} and AXLearn, shardings those of JAX.
 *
 * <h2>In short</h2>
 *
 * {@snippet :
 * Topology machine = Topologies.resolve("v5e-16", 2);
 * Mesh mesh = Mesh.of(machine, MeshSpec.hybrid(List.of("data", "model"), List.of(1, -1), List.of(-1, 1)));
 * assertThat(mesh.shape()).containsExactly(2, 16);
 * int[] assignment = mesh.deviceIds(); // row-major: what a program is compiled for
 * assertThat(assignment).startsWith(100000, 100001, 100002, 100003, 100007);
 *
 * NamedSharding sharding = NamedSharding.of(mesh, PartitionSpec.of("data", null, "model"));
 * assertThat(sharding.shardShape(List.of(8L, 64L, 128L))).containsExactly(4L, 64L, 8L);
 * assertThat(sharding.sdyText(3)).isEqualTo("#sdy.sharding<@mesh, [{\"data\"}, {}, {\"model\"}]>");
 * assertThat(sharding.hloText(3)).isEqualTo("{devices=[2,1,16]<=[32]}");
 *
 * NamedSharding heads = NamedSharding.of(mesh, PartitionSpec.of("data", "model:(1)8")); // 8 heads, two devices to each
 * assertThat(heads.hloText(2)).isEqualTo("{devices=[2,8,2]<=[32] last_tile_dim_replicate}");
 *
 * AxisCost model = AxisCost.of(mesh, "model");
 * assertThat(model.medium()).isEqualTo(AxisCost.Medium.ICI);
 * assertThat(model.allReduceSeconds(1 << 20)).isBetween(30e-6, 33e-6);
 * }
 *
 * <h2>Device orders</h2>
 *
 * <p>A program compiled ahead of time must be the one that will run, so {@link dev.slipway.mesh.DeviceOrder#RUNTIME} is the
 * default:
 *
 * <ol>
 *   <li>a plain shape gives its first axis that is not 1 to the slices; a hybrid shape says itself how axes cross slices. The
 *       DCN part is outermost on every axis
 *   <li>v5e-256 and v6e-256 as 64x4 or 32x8 are cut into rings of 4 or 8 neighbours (AXLearn)
 *   <li>slices of up to 16 (v5e, v6e) or 32 devices (7x) have rings by table
 *   <li>otherwise each axis, from the last, takes whole torus axes; where that fails, factors of them. JAX loses small primes of
 *       extents such as 10 and 28 and then fails (v5p-896 as 56x8): what it answers is answered the same, what it fails on is
 *       laid with the true factors
 *   <li>GPUs and CPUs: as listed
 * </ol>
 *
 * <p>{@link dev.slipway.mesh.DeviceOrder#TOPOLOGY} takes the list as it comes, like AXLearn's ahead-of-time compiler;
 * {@link dev.slipway.mesh.Mesh#crossesSlicesWithinIci} tells when that leaves slices along an ICI axis.
 * {@link dev.slipway.mesh.Mesh#jaxDeviceMesh} and {@link dev.slipway.mesh.Mesh#jaxHybridDeviceMesh} are JAX's own functions with
 * their flags.
 *
 * <p>Refused although the reference lets it pass: sizes below 1 other than one -1, doubled or empty axis names, fewer than one
 * slice, and ICI and DCN sizes that only fit multiplied together.
 *
 * <h2>Errors</h2>
 *
 * <table>
 * <caption>All extend {@code MeshException}, an {@code IllegalArgumentException}; each names axis, value and count</caption>
 * <tr><th>type<th>when
 * <tr><td>{@link dev.slipway.mesh.MeshAxisException}<td>axis names missing, empty, double or like a part of an axis, or not as many as sizes
 * <tr><td>{@link dev.slipway.mesh.MeshShapeException}<td>sizes do not fit the machine, or a -1 cannot be inferred
 * <tr><td>{@link dev.slipway.mesh.DeviceLayoutException}<td>the function that was asked for has no layout for the shape
 * <tr><td>{@link dev.slipway.mesh.ShardingException}<td>a spec does not fit its mesh, or a dimension does not divide
 * </table>
 */
package dev.slipway.mesh;
