// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.Mesh;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** What a picture of a mesh shows, whatever it is drawn with: which devices stand where, and what is written on them. */
public final class Drawing {
    private final Mesh mesh;
    private final Planes planes;
    private final List<List<List<Integer>>> chips;
    private final int[] places;

    private Drawing(Mesh mesh) {
        this.mesh = mesh;
        this.planes = Planes.of(mesh.topology());
        this.chips = planes.chips(mesh.topology());
        this.places = new int[mesh.size()];
        int[] positions = mesh.positions();
        for (int i = 0; i < positions.length; i++) {
            places[positions[i]] = i;
        }
    }

    public static Drawing of(Mesh mesh) {
        return new Drawing(mesh);
    }

    public Mesh mesh() {
        return mesh;
    }

    public Planes planes() {
        return planes;
    }

    /** The devices of each chip of each plane, as {@link Planes#chips} gives them. */
    public List<List<List<Integer>>> chips() {
        return chips;
    }

    /** Where in the mesh a device of the list is. */
    public int placeInMesh(int position) {
        return places[position];
    }

    /** The mesh coordinates of a chip's devices: {@code 0,3}, or {@code 0,3 0,4} where there are two. */
    public String label(List<Integer> chip) {
        return chip.stream()
                .map(position ->
                        coordinates(position).stream().map(String::valueOf).collect(Collectors.joining(",")))
                .collect(Collectors.joining(" "));
    }

    /** The mesh coordinates of a device of the list, axes of size 1 left out; 0 where that leaves none. */
    public List<Integer> coordinates(int position) {
        List<Integer> coordinates = new ArrayList<>();
        int rest = places[position];
        for (int axis = mesh.shape().size() - 1; axis >= 0; axis--) {
            int size = mesh.shape().get(axis);
            if (size > 1) {
                coordinates.addFirst(rest % size);
            }
            rest /= size;
        }
        return coordinates.isEmpty() ? List.of(0) : coordinates;
    }
}
