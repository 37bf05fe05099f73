// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where plugins are looked for, and what is said of files that are none. */
class PluginsTest {

    @TempDir
    private Path folder;

    private Plugins plugins(Map<String, String> more) {
        Map<String, String> environment = new HashMap<>(
                Map.of("SLIPWAY_CACHE", folder.resolve("cache").toString(), "SLIPWAY_PYTHON", "/does/not/exist"));
        environment.putAll(more);
        return Plugins.of(environment);
    }

    @Test
    void aPathIsTakenAsItIs() throws IOException {
        Path library = Files.createFile(folder.resolve("my_plugin.so"));
        assertThat(plugins(Map.of()).find(library.toString()))
                .hasValueSatisfying(found -> assertThat(found.source()).isEqualTo(Plugins.Source.PATH));
    }

    @Test
    void thePluginPathTakesNamesAndFolders() throws IOException {
        Path library = Files.createFile(folder.resolve("libtpu.so"));
        assertThat(plugins(Map.of("SLIPWAY_PLUGIN_PATH", "/nowhere:" + folder)).find("tpu"))
                .hasValue(new Plugins.Found("tpu", library, Plugins.Source.PLUGIN_PATH));
        assertThat(plugins(Map.of("SLIPWAY_PLUGIN_PATH", "mine=" + library)).find("mine"))
                .hasValue(new Plugins.Found("mine", library, Plugins.Source.PLUGIN_PATH));
    }

    @Test
    void aNameOnThePluginPathWhoseFileIsNotThereIsRefused() {
        Plugins plugins = plugins(Map.of("SLIPWAY_PLUGIN_PATH", "cpu=/no/such/plugin.so"));

        assertThatThrownBy(() -> plugins.find("cpu"))
                .isInstanceOf(PluginException.Missing.class)
                .hasMessageContaining("SLIPWAY_PLUGIN_PATH names /no/such/plugin.so for plugin 'cpu'");
        assertThat(plugins.find("tpu")).isEmpty();
    }

    @Test
    void thePackagesOfAnInstalledPythonAreLookedThrough() throws IOException {
        Path site = Files.createDirectories(folder.resolve("site"));
        Path library =
                Files.createFile(Files.createDirectories(site.resolve("libtpu")).resolve("libtpu.so"));
        Path python = Files.writeString(folder.resolve("python"), "#!/bin/sh\necho " + site + "\n");
        Files.setPosixFilePermissions(python, PosixFilePermissions.fromString("rwx------"));
        assertThat(plugins(Map.of("SLIPWAY_PYTHON", python.toString())).find("tpu"))
                .hasValue(new Plugins.Found("tpu", library, Plugins.Source.PYTHON));
    }

    @Test
    void whatIsNotThereIsNotFound() {
        assertThat(plugins(Map.of()).find("tpu")).isEmpty();
        assertThat(plugins(Map.of()).find("/no/such/plugin.so")).isEmpty();
    }

    @Test
    void anUnknownNameNamesTheKnownOnes() {
        assertThatThrownBy(() -> plugins(Map.of()).find("gpu"))
                .isInstanceOf(PluginException.Missing.class)
                .hasMessageContaining("cuda");
    }

    @Test
    void aMissingFileATextAndALibraryWithoutTheEntryAreToldApart() throws IOException {
        assertThatThrownBy(() -> Plugin.load(folder.resolve("absent.so"))).isInstanceOf(PluginException.Missing.class);
        Path text = Files.writeString(folder.resolve("text.so"), "not a library");
        assertThatThrownBy(() -> Plugin.load(text))
                .isInstanceOf(PluginException.NotAPlugin.class)
                .hasMessageContaining("not an ELF file");
        Path other =
                Path.of("/proc/self/exe").toRealPath().getParent().getParent().resolve("lib/libzip.so");
        assertThatThrownBy(() -> Plugin.load(other))
                .isInstanceOf(PluginException.NotAPlugin.class)
                .hasMessageContaining("GetPjrtApi");
    }

    /** Such a file maps, and ends the process when what is not there is touched. */
    @Test
    void aLibraryThatIsCutOffIsRefusedBeforeItIsMapped() throws IOException {
        byte[] whole = Files.readAllBytes(
                Path.of("/proc/self/exe").toRealPath().getParent().getParent().resolve("lib/server/libjvm.so"));
        Path half = Files.write(folder.resolve("half.so"), Arrays.copyOf(whole, whole.length / 2));

        assertThatThrownBy(() -> Plugin.load(half))
                .isInstanceOf(PluginException.NotAPlugin.class)
                .hasMessageContaining("is cut off: it has " + whole.length / 2 + " bytes");
        Path head = Files.write(folder.resolve("head.so"), java.util.Arrays.copyOf(whole, 10));
        assertThatThrownBy(() -> Plugin.load(head))
                .isInstanceOf(PluginException.NotAPlugin.class)
                .hasMessageContaining("is cut off: it has 10 bytes");
    }

    @Test
    void aLibraryWithDamagedHeadersIsRefused() throws IOException {
        byte[] damaged = Files.readAllBytes(
                Path.of("/proc/self/exe").toRealPath().getParent().getParent().resolve("lib/libzip.so"));
        Arrays.fill(damaged, 54, 58, (byte) 0xff); // size and number of the segments
        Path library = Files.write(folder.resolve("damaged.so"), damaged);

        assertThatThrownBy(() -> Plugin.load(library)).isInstanceOf(PluginException.NotAPlugin.class);
    }

    @Test
    void aLibraryOfAnotherMachineIsToldFromWhatIsNoLibrary() throws IOException {
        byte[] other = Files.readAllBytes(
                Path.of("/proc/self/exe").toRealPath().getParent().getParent().resolve("lib/libzip.so"));
        other[18] = 8; // e_machine: MIPS
        Path library = Files.write(folder.resolve("other.so"), other);

        assertThatThrownBy(() -> Plugin.load(library))
                .isInstanceOf(PluginException.NotAPlugin.class)
                .hasMessageContaining(
                        "does not load as a shared library: it needs a library that is not there, or is of"
                                + " another machine");
    }

    @Test
    void loadingTwiceGivesTheSamePlugin() {
        assertThat(TestPlugins.cpu()).isSameAs(TestPlugins.cpu());
    }

    @Test
    void theLogTakesWhatPluginsSayAndJavaIsStillHeard() {
        try (PluginLog log = PluginLog.capture()) {
            TestPlugins.cpu()
                    .client(Map.of("cpu_device_count", NamedValue.of(2)))
                    .close();
            assertThat(log.text()).contains("cpu_device_count");
            System.err.print("");
            assertThat(log.text()).doesNotContain("PluginsTest");
        }
    }

    @Test
    void aLogIsClosedOnceAndWhoKeptItsStreamWritesToNoOtherFile() throws IOException {
        PrintStream before = System.err;
        PluginLog log = PluginLog.capture();
        PrintStream captured = System.err;
        log.close();
        assertThat(System.err).isSameAs(before);

        Path next = folder.resolve("next");
        try (OutputStream _ = Files.newOutputStream(next)) {
            captured.print("late words");
            assertThatThrownBy(log::close).isInstanceOf(UsageException.Closed.class);
        }
        assertThat(next).isEmptyFile();
    }

    @Test
    void aNoteStandsAmongWhatPluginsPrintInAFileThatNamesTheProcess() {
        try (PluginLog log = PluginLog.capture()) {
            log.note("about to compile");

            assertThat(log.text()).contains("about to compile\n");
            assertThat(log.file().getFileName())
                    .asString()
                    .startsWith("slipway-plugins-" + ProcessHandle.current().pid() + "-");
        }
    }

    @Test
    void aLogThatCannotBeHadLeavesNoDescriptorOpen() throws Exception {
        assertThat(TestJvm.run(LastDescriptorProcess.class, Map.of(), folder.toString()))
                .containsExactly("cannot redirect standard error to " + folder.resolve("log"), "still one descriptor");
    }
}
