// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** An attribute with several fields that StableHLO, CHLO or Shardy define. */
public sealed interface StructAttribute extends Attribute
        permits DotDimensionNumbers,
                RaggedDotDimensionNumbers,
                GatherDimensionNumbers,
                ScatterDimensionNumbers,
                ConvDimensionNumbers,
                DotAlgorithm,
                ChannelHandle,
                OutputOperandAlias,
                TypeExtensions,
                ResultAccuracy,
                MeshReplicaGroups,
                MeshReplicaGroups.Mesh,
                MeshReplicaGroups.Axis,
                MeshReplicaGroups.AxisRef,
                DeviceMesh,
                TensorSharding,
                Shardy {}
