// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;

/** The process of {@link CollectivesTest}, with two members. It prints what each of them got by each operation, one line each. */
final class CollectivesProcess {

    private static final List<Long> DEVICES = List.of(0L, 1L);
    private static final int COUNT = 4;

    private final List<Communicator> members;
    private final Arena arena;
    private int operation;

    private CollectivesProcess(List<Communicator> members, Arena arena) {
        this.members = members;
        this.arena = arena;
    }

    public static void main(String[] args) {
        try (Megascale context = TestPlugins.tpu().megascale()) {
            context.initialize();
            System.out.println("port " + context.port());
            Megascale.Worker self = new Megascale.Worker("localhost:" + context.port(), 0, 0);
            try (Collectives collectives = context.collectives(List.of(self), DEVICES.size(), new byte[0]);
                    Arena arena = Arena.ofShared()) {
                List<Communicator> members = collectives.communicators(DEVICES, List.of(), List.of(0, 1));
                System.out.println("members " + members);
                new CollectivesProcess(members, arena).run();
                members.forEach(Communicator::close);
            }
        }
    }

    @FunctionalInterface
    private interface Operation {
        CompletableFuture<?> start(int member, MemorySegment from, MemorySegment to, Communicator.Meeting meeting);
    }

    private void run() {
        ElementType type = ElementType.F32;
        all(
                "allReduce",
                COUNT,
                (member, from, to, meeting) ->
                        members.get(member).allReduce(from, to, type, COUNT, Communicator.Reduction.SUM, meeting));
        all(
                "reduceScatter",
                COUNT / 2,
                (member, from, to, meeting) -> members.get(member)
                        .reduceScatter(from, to, type, COUNT / 2, Communicator.Reduction.MAX, meeting));
        all(
                "allGather",
                COUNT * 2,
                (member, from, to, meeting) -> members.get(member).allGather(from, to, type, COUNT, meeting));
        all("permute", COUNT, (member, from, to, meeting) -> {
            int other = 1 - member;
            return members.get(member).permute(from, to, type, COUNT, OptionalInt.of(other), List.of(other), meeting);
        });
        all(
                "allToAll",
                COUNT,
                (member, from, to, meeting) ->
                        members.get(member).allToAll(halves(from), halves(to), type, COUNT / 2, meeting));
    }

    private static List<MemorySegment> halves(MemorySegment whole) {
        long half = whole.byteSize() / 2;
        return List.of(whole.asSlice(0, half), whole.asSlice(half));
    }

    /** Member r has 1, 2, 3, 4 times 10 to the r. */
    private void all(String name, int results, Operation what) {
        operation++;
        Communicator.Meeting meeting =
                new Communicator.Meeting(1, DEVICES, members.size(), true, operation, Duration.ofSeconds(30));
        List<MemorySegment> got = new ArrayList<>();
        List<CompletableFuture<?>> done = new ArrayList<>();
        for (int member = 0; member < members.size(); member++) {
            float scale = member == 0 ? 1 : 10;
            MemorySegment from = arena.allocateFrom(ValueLayout.JAVA_FLOAT, scale, 2 * scale, 3 * scale, 4 * scale);
            MemorySegment to = arena.allocate(ValueLayout.JAVA_FLOAT, results);
            got.add(to);
            done.add(what.start(member, from, to, meeting));
        }
        done.forEach(CompletableFuture::join);
        for (int member = 0; member < members.size(); member++) {
            System.out.println(
                    name + " " + member + " " + Arrays.toString(got.get(member).toArray(ValueLayout.JAVA_FLOAT)));
        }
    }
}
