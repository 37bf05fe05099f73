// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.hash.Hashing;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store, with the real pip and a folder of wheels in place of an index. */
class PackageStoreTest {

    private static final String WHEEL = "slipway_sample-1.0-py3-none-any.whl";
    private static final String CONTENT = "the file that is needed";

    @TempDir
    private Path folder;

    private byte[] wheel = new byte[0];

    @BeforeEach
    void makeAWheel() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            add(zip, "slipway_sample/needed.txt", CONTENT);
            add(zip, "slipway_sample/other.txt", "not needed");
            add(
                    zip,
                    "slipway_sample-1.0.dist-info/METADATA",
                    "Metadata-Version: 2.1\nName: slipway-sample\nVersion: 1.0\n");
            add(
                    zip,
                    "slipway_sample-1.0.dist-info/WHEEL",
                    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
            add(zip, "slipway_sample-1.0.dist-info/RECORD", "");
        }
        wheel = bytes.toByteArray();
        Files.createDirectories(folder.resolve("index"));
        Files.write(folder.resolve("index").resolve(WHEEL), wheel);
    }

    private static void add(ZipOutputStream zip, String name, String text) throws IOException {
        zip.putNextEntry(new ZipEntry(name));
        zip.write(text.getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
    }

    private PackageStore store(Map<String, String> more) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("SLIPWAY_CACHE", folder.resolve("cache").toString());
        environment.put("PIP_NO_INDEX", "1");
        environment.put("PIP_FIND_LINKS", folder.resolve("index").toString());
        environment.putAll(more);
        return PackageStore.of(environment);
    }

    private PipPackage sample(String... files) {
        return new PipPackage(
                "slipway-sample",
                "1.0",
                Hashing.sha256().hashBytes(wheel).toString(),
                wheel.length,
                "any",
                "none",
                List.of(files.length == 0 ? new String[] {"slipway_sample/needed.txt"} : files));
    }

    private List<String> leftovers() throws IOException {
        try (Stream<Path> files = Files.walk(folder.resolve("cache"))) {
            return files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith(".lock"))
                    .toList();
        }
    }

    @Test
    void onlyTheNeededFilesAreUnpackedAndNothingElseStays() throws IOException {
        Path file = store(Map.of()).file(sample(), PackageStore.Progress.NONE);
        assertThat(file).hasContent(CONTENT);
        assertThat(leftovers()).containsExactly("needed.txt");
    }

    @Test
    void progressGoesThroughItsPhases() {
        List<PackageStore.Phase> phases = new CopyOnWriteArrayList<>();
        store(Map.of()).require(sample(), (wheel, phase, bytes) -> phases.add(phase));
        assertThat(phases)
                .containsSubsequence(
                        PackageStore.Phase.FETCHING,
                        PackageStore.Phase.CHECKING,
                        PackageStore.Phase.UNPACKING,
                        PackageStore.Phase.DONE);
    }

    @Test
    void whatIsThereIsNotFetchedAgain() {
        store(Map.of()).require(sample(), PackageStore.Progress.NONE);
        Path again = store(Map.of("SLIPWAY_PIP", "/does/not/exist")).require(sample(), PackageStore.Progress.NONE);
        assertThat(again).isDirectory();
    }

    @Test
    void aWholeWheelLeftByAnInterruptedRunIsUsedWithoutPip() throws IOException {
        PackageStore store = store(Map.of("SLIPWAY_PIP", "/does/not/exist"));
        Path wheels = Files.createDirectories(store.root().resolve("wheels"));
        Files.write(wheels.resolve("slipway-sample-1.0-" + sample().sha256().substring(0, 8) + ".whl"), wheel);
        assertThat(store.file(sample(), PackageStore.Progress.NONE)).hasContent(CONTENT);
    }

    @Test
    void whatAProcessLeftThatWasEndedAtAFetchGoesWithTheNext() throws IOException {
        PackageStore store = store(Map.of());
        String key = "slipway-sample-1.0-" + sample().sha256().substring(0, 8);
        for (String left : List.of("wheels/.fetch-" + key + "-1/arrived", "packages/.unpack-" + key + "-2")) {
            Files.write(Files.createDirectories(store.root().resolve(left)).resolve("half"), wheel);
        }
        Path others = Files.createDirectories(store.root().resolve("wheels/.fetch-other-1.0-12345678-1"));

        store.require(sample(), PackageStore.Progress.NONE);
        assertThat(leftovers()).containsExactly("needed.txt");
        assertThat(others).isDirectory();
    }

    @Test
    void aFetchThatIsInterruptedEndsPipAndLeavesNothing() throws Exception {
        Path pip = program("pip", """
                [ "$1" = --version ] && exit
                trap '' TERM
                while :; do mkdir -p $TMPDIR/more; : >$TMPDIR/more/file; done
                """);
        PackageStore store = store(Map.of("SLIPWAY_PIP", pip.toString()));
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        CountDownLatch fetching = new CountDownLatch(1);
        Thread fetch = Thread.ofPlatform().start(() -> {
            try {
                store.require(sample(), (_, _, _) -> fetching.countDown());
                outcome.complete(new AssertionError("fetched"));
            } catch (PackageException e) {
                outcome.complete(e);
            }
        });
        fetching.await();
        fetch.interrupt();

        assertThat(outcome.get(30, TimeUnit.SECONDS))
                .isInstanceOf(PackageException.Store.class)
                .hasMessage("the fetch was interrupted: run it again");
        assertThat(leftovers()).isEmpty();
    }

    @Test
    void whatPipSaysInAnotherEncodingIsReadAllTheSame() throws IOException {
        Path pip = program("pip", "[ \"$1\" = --version ] || { printf 'kein Netz f\\374r heute\\n'; exit 1; }");
        assertThatThrownBy(() ->
                        store(Map.of("SLIPWAY_PIP", pip.toString())).require(sample(), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.Unreachable.class)
                .hasMessageContaining("(kein Netz f");
    }

    private Path program(String name, String script) throws IOException {
        Path program = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        return program;
    }

    @Test
    void aTruncatedWheelInTheStoreIsFetchedAgain() throws IOException {
        PackageStore store = store(Map.of());
        Path wheels = Files.createDirectories(store.root().resolve("wheels"));
        Files.write(
                wheels.resolve("slipway-sample-1.0-" + sample().sha256().substring(0, 8) + ".whl"),
                Arrays.copyOf(wheel, wheel.length / 2));
        assertThat(store.file(sample(), PackageStore.Progress.NONE)).hasContent(CONTENT);
    }

    @Test
    void aWheelThatArrivesTruncatedIsRefusedInOneLineAndLeavesNothing() throws IOException {
        PipPackage pinned = sample();
        Files.write(folder.resolve("index").resolve(WHEEL), Arrays.copyOf(wheel, wheel.length / 2));
        assertThatThrownBy(() -> store(Map.of()).require(pinned, PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.WrongHash.class)
                .hasMessageContaining(pinned.sha256())
                .message()
                .doesNotContain("\n");
        assertThat(leftovers()).isEmpty();
    }

    @Test
    void aWheelWithoutTheFileIsRefused() throws IOException {
        assertThatThrownBy(
                        () -> store(Map.of()).require(sample("slipway_sample/absent.so"), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.Truncated.class)
                .hasMessageContaining("absent.so");
        assertThat(leftovers()).isEmpty();
    }

    @Test
    void aMissingPipIsSaidWithTheRemedy() {
        assertThatThrownBy(() -> store(Map.of("PATH", "/does/not/exist")).require(sample(), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.MissingPip.class)
                .hasMessageContaining("install Python's pip");
    }

    @Test
    void aPackageThatTheIndexDoesNotHaveIsSaidSo() throws IOException {
        Files.delete(folder.resolve("index").resolve(WHEEL));
        assertThatThrownBy(() -> store(Map.of()).require(sample(), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.Unreachable.class)
                .hasMessageContaining("slipway-sample 1.0");
    }

    @Test
    void noNetworkIsSaidSo() {
        Map<String, String> offline = Map.of(
                "PIP_NO_INDEX", "0",
                "PIP_FIND_LINKS", "",
                "PIP_INDEX_URL", "http://127.0.0.1:9/simple",
                "PIP_EXTRA_INDEX_URL", "",
                "PIP_RETRIES", "1");
        assertThatThrownBy(() -> store(offline).require(sample(), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.Unreachable.class)
                .hasMessageContaining("check the network");
    }

    @Test
    void aFolderThatCannotBeWrittenIsSaidSo() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "in the way");
        assertThatThrownBy(() ->
                        store(Map.of("SLIPWAY_CACHE", file.toString())).require(sample(), PackageStore.Progress.NONE))
                .isInstanceOf(PackageException.Store.class)
                .hasMessageContaining("SLIPWAY_CACHE");
    }

    @Test
    void severalAtOnceFetchOnce() throws Exception {
        List<PackageStore.Phase> phases = new CopyOnWriteArrayList<>();
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<Path>> all = Stream.generate(() -> threads.submit(
                            () -> store(Map.of()).require(sample(), (wheel, phase, bytes) -> phases.add(phase))))
                    .limit(4)
                    .toList();
            for (Future<Path> one : all) {
                assertThat(one.get().resolve("slipway_sample/needed.txt")).hasContent(CONTENT);
            }
        }
        assertThat(phases).containsOnlyOnce(PackageStore.Phase.DONE);
    }

    @Test
    void theFolderFollowsTheVariables() {
        assertThat(PackageStore.of(Map.of("SLIPWAY_CACHE", "/a", "XDG_CACHE_HOME", "/b", "HOME", "/c"))
                        .root())
                .isEqualTo(Path.of("/a"));
        assertThat(PackageStore.of(Map.of("XDG_CACHE_HOME", "/b", "HOME", "/c")).root())
                .isEqualTo(Path.of("/b/slipway"));
        assertThat(PackageStore.of(Map.of("HOME", "/c")).root()).isEqualTo(Path.of("/c/.cache/slipway"));
    }
}
