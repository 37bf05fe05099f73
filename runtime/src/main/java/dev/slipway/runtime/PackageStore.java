// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * Where packages are kept: fetched by pip, checked against their pinned SHA-256, and only the needed files unpacked.
 *
 * <p>Whatever appears under its final name is whole: wheels and folders are renamed into place. A fetch that was broken
 * off leaves nothing, or where the process was ended, nothing after the next; a wheel that had arrived is not fetched
 * again. A lock per package lets several processes share a store.
 */
public final class PackageStore {

    private static final long POLL_MILLIS = 100;
    private static final int LOCK_SECONDS = 30 * 60;

    private final Path root;
    private final Map<String, String> environment;

    private PackageStore(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = Map.copyOf(environment);
    }

    /** The user's: {@code $SLIPWAY_CACHE}, else {@code $XDG_CACHE_HOME/slipway}, else {@code ~/.cache/slipway}. */
    public static PackageStore ofUser() {
        return of(System.getenv());
    }

    /** As {@link #ofUser}, by the variables given; pip is started with them too. */
    public static PackageStore of(Map<String, String> environment) {
        String own = environment.getOrDefault("SLIPWAY_CACHE", "");
        String shared = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path root = !own.isEmpty()
                ? Path.of(own)
                : (!shared.isEmpty()
                                ? Path.of(shared)
                                : Path.of(environment.getOrDefault("HOME", System.getProperty("user.home")), ".cache"))
                        .resolve("slipway");
        return new PackageStore(root.toAbsolutePath(), environment);
    }

    /** The folder. */
    public Path root() {
        return root;
    }

    /** Is told how far a fetch is. */
    @FunctionalInterface
    public interface Progress {
        /** Tells nobody. */
        Progress NONE = (wheel, phase, bytes) -> {};

        /**
         * Called a few times a second.
         *
         * @param bytes done so far, of {@link PipPackage#bytes} while fetching and checking
         */
        void at(PipPackage wheel, Phase phase, long bytes);
    }

    /** What is being done. */
    public enum Phase {
        /** Another process is at it. */
        WAITING,
        FETCHING,
        CHECKING,
        UNPACKING,
        DONE
    }

    /** The folder of a package's files if they are there already. */
    public Optional<Path> find(PipPackage wheel) {
        Path folder = folder(wheel);
        return wheel.files().stream().allMatch(file -> Files.isRegularFile(folder.resolve(file)))
                ? Optional.of(folder)
                : Optional.empty();
    }

    /** The first of a package's files if it is there already. */
    public Optional<Path> findFile(PipPackage wheel) {
        return find(wheel).map(folder -> folder.resolve(wheel.files().getFirst()));
    }

    /** The first of a package's files, fetched if need be. */
    public Path file(PipPackage wheel, Progress progress) {
        return require(wheel, progress).resolve(wheel.files().getFirst());
    }

    /**
     * The folder of a package's files, fetched if need be.
     *
     * @throws PackageException.MissingPip if pip is needed and not there
     * @throws PackageException.WrongHash if what arrived is not what was pinned
     * @throws PackageException.Truncated if the wheel is no zip file or lacks a file
     * @throws PackageException.Unreachable if pip finds no such package, or no network
     * @throws PackageException.Store if the folder cannot be written or another process holds the lock for half an hour
     */
    public Path require(PipPackage wheel, Progress progress) {
        Optional<Path> there = find(wheel);
        if (there.isPresent()) {
            return there.get();
        }
        try {
            Files.createDirectories(root.resolve("packages"));
            Files.createDirectories(root.resolve("wheels"));
            try (FileChannel channel = FileChannel.open(
                            root.resolve("wheels").resolve(key(wheel) + ".lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE);
                    FileLock lock = lock(channel, wheel, progress)) {
                return find(wheel).orElseGet(() -> install(wheel, progress, lock));
            }
        } catch (FileSystemException e) {
            throw new PackageException.Store(
                    "the cache folder " + root + " cannot be written (" + why(e)
                            + "): set SLIPWAY_CACHE to a folder that can",
                    e);
        } catch (IOException e) {
            throw new PackageException.Store(
                    "the cache folder " + root + " cannot be used (" + e.getMessage()
                            + "): set SLIPWAY_CACHE to another",
                    e);
        }
    }

    private static FileLock lock(FileChannel channel, PipPackage wheel, Progress progress) throws IOException {
        for (long waited = 0; waited < LOCK_SECONDS * 1000L; waited += POLL_MILLIS) {
            try {
                FileLock lock = channel.tryLock();
                if (lock != null) {
                    return lock;
                }
            } catch (OverlappingFileLockException e) {
                // Another thread of this process has it, which is waited for in the same way.
            }
            progress.at(wheel, Phase.WAITING, 0);
            sleep();
        }
        throw new PackageException.Store("another process has been fetching " + wheel.name()
                + " for half an hour: end it, or set SLIPWAY_CACHE to another folder");
    }

    private static void sleep() {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PackageException.Store("the fetch was interrupted: run it again", e);
        }
    }

    @SuppressWarnings("unused") // the lock is passed to say that it is held
    private Path install(PipPackage wheel, Progress progress, FileLock held) {
        Path file = root.resolve("wheels").resolve(key(wheel) + ".whl");
        try {
            if (!Files.isRegularFile(file) || !sha256(file, wheel, progress).equals(wheel.sha256())) {
                Files.deleteIfExists(file);
                fetch(wheel, file, progress);
            }
            Path folder = unpack(wheel, file, progress);
            Files.deleteIfExists(file);
            progress.at(wheel, Phase.DONE, wheel.bytes());
            return folder;
        } catch (ZipException e) {
            delete(file);
            throw new PackageException.Truncated(
                    "the wheel of " + wheel.name() + " is no whole zip file (" + e.getMessage() + "): run it again", e);
        } catch (FileSystemException e) {
            throw new PackageException.Store(
                    "the cache folder " + root + " cannot be written (" + why(e)
                            + "): free some space, or set SLIPWAY_CACHE to another folder",
                    e);
        } catch (IOException e) {
            throw new PackageException.Store(
                    wheel.name() + " could not be stored in " + root + " (" + e.getMessage()
                            + "): free some space, or set SLIPWAY_CACHE to another folder",
                    e);
        }
    }

    private void fetch(PipPackage wheel, Path file, Progress progress) throws IOException {
        List<String> pip = pip();
        Path work = emptyFolder(root.resolve("wheels"), ".fetch-", wheel);
        try {
            Path requirement = work.resolve("requirement.txt");
            Files.writeString(
                    requirement, wheel.name() + "==" + wheel.version() + " --hash=sha256:" + wheel.sha256() + "\n");
            Path arrived = Files.createDirectory(work.resolve("arrived"));
            List<String> command = new ArrayList<>(pip);
            command.addAll(List.of(
                    "download",
                    "--no-deps",
                    "--require-hashes",
                    "--only-binary=:all:",
                    "--no-cache-dir",
                    "--no-input"));
            command.addAll(List.of("--disable-pip-version-check", "--progress-bar", "off", "--python-version", "311"));
            command.addAll(List.of("--implementation", wheel.abi().equals("none") ? "py" : "cp"));
            command.addAll(List.of("--abi", wheel.abi(), "--platform", wheel.platform()));
            command.addAll(List.of("--dest", arrived.toString(), "--requirement", requirement.toString()));
            Path output = work.resolve("pip.log");
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().clear();
            builder.environment().putAll(environment);
            // Pip downloads into its temporary folder first: there the file can be watched growing.
            builder.environment().put("TMPDIR", work.toString());
            Process process = builder.start();
            try {
                while (!process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                    progress.at(wheel, Phase.FETCHING, Math.min(wheel.bytes(), largest(work)));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PackageException.Store("the fetch was interrupted: run it again", e);
            } finally {
                end(process);
            }
            if (process.exitValue() != 0) {
                // Not readString, which refuses what another encoding's messages have.
                throw failure(wheel, new String(Files.readAllBytes(output), StandardCharsets.UTF_8));
            }
            try (Stream<Path> wheels = Files.list(arrived)) {
                Path whole = wheels.findFirst()
                        .orElseThrow(() -> new PackageException.Unreachable(
                                "pip says it fetched " + wheel.name() + " but left no file: run it again"));
                String sha256 = sha256(whole, wheel, progress);
                if (!sha256.equals(wheel.sha256())) {
                    throw wrongHash(wheel, sha256);
                }
                Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
            }
        } finally {
            MoreFiles.deleteRecursively(work, RecursiveDeleteOption.ALLOW_INSECURE);
        }
    }

    /** A folder to work in. Those of processes that were ended at this package, whose lock is held, go first. */
    private static Path emptyFolder(Path parent, String what, PipPackage wheel) throws IOException {
        String name = what + key(wheel) + "-";
        try (DirectoryStream<Path> left = Files.newDirectoryStream(parent, name + "*")) {
            for (Path folder : left) {
                MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
            }
        } catch (IOException e) {
            // Its pip is at it still: the next one deletes it.
        }
        return Files.createTempDirectory(parent, name);
    }

    /** Nothing must write any more when the folder is deleted. */
    private static void end(Process process) {
        if (process.isAlive()) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
        }
    }

    private static PackageException failure(PipPackage wheel, String output) {
        String text = output.toLowerCase(Locale.ROOT);
        if (text.contains("do not match the hashes") || text.contains("hashes are required")) {
            int got = output.indexOf("Got ");
            return wrongHash(
                    wheel,
                    got < 0 ? "unknown" : output.substring(got + 4).strip().split("\\s", 2)[0]);
        }
        boolean offline = Stream.of(
                        "failed to establish a new connection",
                        "name resolution",
                        "max retries exceeded",
                        "network is unreachable",
                        "connection broken",
                        "newconnectionerror",
                        "timed out",
                        "proxyerror")
                .anyMatch(text::contains);
        if (offline) {
            return new PackageException.Unreachable(
                    "pip cannot reach its package index for " + wheel.name() + " " + wheel.version()
                            + ": check the network and pip's configuration (pip config list), and run it again");
        }
        if (text.contains("no matching distribution") || text.contains("could not find a version")) {
            return new PackageException.Unreachable("pip's package index has no " + wheel.name() + " " + wheel.version()
                    + " for " + wheel.platform() + ", or cannot be reached: check the network and which index is used"
                    + " (pip config list)");
        }
        String last = output.lines().filter(line -> !line.isBlank()).reduce("no output", (first, second) -> second);
        return new PackageException.Unreachable("pip could not fetch " + wheel.name() + " " + wheel.version() + " ("
                + last.strip() + "): run it again");
    }

    private static PackageException.WrongHash wrongHash(PipPackage wheel, String got) {
        return new PackageException.WrongHash(
                "what arrived as " + wheel.name() + " " + wheel.version() + " has SHA-256 " + got
                        + ", but " + wheel.sha256()
                        + " is pinned: it was damaged on the way or is another file; run it again, and"
                        + " distrust that index if it stays so");
    }

    private List<String> pip() {
        String own = environment.getOrDefault("SLIPWAY_PIP", "");
        List<List<String>> candidates = own.isEmpty()
                ? List.of(List.of("pip3"), List.of("pip"), List.of("python3", "-m", "pip"))
                : List.of(List.of(own));
        for (List<String> candidate : candidates) {
            List<String> command = new ArrayList<>(candidate);
            command.add("--version");
            try {
                ProcessBuilder builder = new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD);
                Optional<Path> program = onPath(candidate.getFirst());
                if (program.isEmpty()) {
                    continue;
                }
                command.set(0, program.get().toString());
                builder.environment().clear();
                builder.environment().putAll(environment);
                if (builder.start().waitFor() == 0) {
                    List<String> found = new ArrayList<>(candidate);
                    found.set(0, program.get().toString());
                    return found;
                }
            } catch (IOException e) {
                // Not this one.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PackageException.Store("the fetch was interrupted: run it again", e);
            }
        }
        throw new PackageException.MissingPip(
                own.isEmpty()
                        ? "pip was not found on the PATH: install Python's pip, or set SLIPWAY_PIP to its path"
                        : "SLIPWAY_PIP is '" + own + "', which does not run: set it to the path of a pip");
    }

    private Optional<Path> onPath(String program) {
        if (program.contains("/")) {
            return Optional.of(Path.of(program));
        }
        return Stream.of(environment.getOrDefault("PATH", "").split(":", -1))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst();
    }

    private static long largest(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> !file.getFileName().toString().endsWith(".log"))
                    .mapToLong(PackageStore::size)
                    .max()
                    .orElse(0);
        } catch (IOException | UncheckedIOException e) {
            return 0; // pip moved it while we looked
        }
    }

    private static long size(Path file) {
        try {
            return Files.isRegularFile(file) ? Files.size(file) : 0;
        } catch (IOException e) {
            return 0; // pip moved it while we looked
        }
    }

    private static String sha256(Path file, PipPackage wheel, Progress progress) throws IOException {
        var hasher = Hashing.sha256().newHasher();
        byte[] block = new byte[1 << 20];
        long done = 0;
        try (InputStream in = Files.newInputStream(file)) {
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                hasher.putBytes(block, 0, n);
                done += n;
                progress.at(wheel, Phase.CHECKING, Math.min(done, wheel.bytes()));
            }
        }
        return hasher.hash().toString();
    }

    private Path unpack(PipPackage wheel, Path file, Progress progress) throws IOException {
        Path folder = folder(wheel);
        Path work = emptyFolder(root.resolve("packages"), ".unpack-", wheel);
        try (ZipFile zip = new ZipFile(file.toFile())) {
            long done = 0;
            for (String name : wheel.files()) {
                ZipEntry entry = zip.getEntry(name);
                if (entry == null) {
                    throw new ZipException("it has no file " + name);
                }
                Path target = work.resolve(name);
                Files.createDirectories(target.getParent());
                done = copy(zip, entry, target, wheel, progress, done);
            }
            makeProgramsExecutable(work, wheel);
            if (Files.exists(folder)) {
                MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
            }
            Files.move(work, folder, StandardCopyOption.ATOMIC_MOVE);
            return folder;
        } finally {
            if (Files.exists(work)) {
                MoreFiles.deleteRecursively(work, RecursiveDeleteOption.ALLOW_INSECURE);
            }
        }
    }

    private static long copy(ZipFile zip, ZipEntry entry, Path target, PipPackage wheel, Progress progress, long before)
            throws IOException {
        long done = before;
        byte[] block = new byte[1 << 20];
        try (InputStream in = zip.getInputStream(entry);
                var out = Files.newOutputStream(target)) {
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                out.write(block, 0, n);
                done += n;
                progress.at(wheel, Phase.UNPACKING, done);
            }
        }
        return done;
    }

    private static void makeProgramsExecutable(Path folder, PipPackage wheel) {
        for (String name : wheel.files()) {
            if (name.contains("/bin/") && !folder.resolve(name).toFile().setExecutable(true)) {
                throw new PackageException.Store(
                        "the cache folder cannot hold programs: set SLIPWAY_CACHE to one that can");
            }
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new PackageException.Store("the damaged file " + file + " cannot be deleted: delete it by hand", e);
        }
    }

    private Path folder(PipPackage wheel) {
        return root.resolve("packages").resolve(key(wheel));
    }

    private static String key(PipPackage wheel) {
        return wheel.name() + "-" + wheel.version() + "-" + wheel.sha256().substring(0, 8);
    }

    private static String why(FileSystemException failure) {
        String reason = failure.getReason() == null ? failure.getClass().getSimpleName() : failure.getReason();
        return reason + " at " + failure.getFile();
    }
}
