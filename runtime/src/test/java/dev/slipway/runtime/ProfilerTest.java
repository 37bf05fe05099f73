// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.util.Comparator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What plugins record of their work. */
class ProfilerTest {

    @ParameterizedTest
    @CsvSource({"TPU, v5e-4, Main fusion.*", "CUDA, h100-8, RunPostSchedulingPipelines"})
    void aPluginRecordsWhatItsCompilerDoes(PluginName name, String machine, String compilerPass) {
        Plugin plugin = TestPlugins.load(name);
        try (PluginTopology slice = plugin.topology(Topologies.resolve(machine).plugin());
                Profiler profiler = plugin.startProfiler(Profiler.Options.DEFAULT)) {
            slice.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())
                    .close();
            Profiler.Profile profile = profiler.stop();
            assertThat(profile.errors()).isEmpty();
            assertThat(profile.planes()).anySatisfy(plane -> {
                assertThat(plane.name()).isEqualTo("/host:CPU");
                assertThat(plane.lines()).isPositive();
                assertThat(plane.events())
                        .extracting(Profiler.Event::name)
                        .anyMatch(pass -> pass.matches(compilerPass));
                assertThat(plane.events())
                        .isSortedAccordingTo(
                                Comparator.comparing(Profiler.Event::time).reversed())
                        .allMatch(event -> event.count() > 0);
            });
        }
    }

    @Test
    void whatIsNotAskedForIsNotRecorded() {
        Plugin tpu = TestPlugins.tpu();
        try (PluginTopology slice = tpu.topology(Topologies.resolve("v5e-4").plugin());
                Profiler profiler = tpu.startProfiler(new Profiler.Options(0, 0, false))) {
            slice.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())
                    .close();
            assertThat(profiler.stop().planes())
                    .allMatch(plane -> plane.events().isEmpty());
        }
    }

    @Test
    void aProfilerIsStoppedOnce() {
        try (Profiler profiler = TestPlugins.tpu().startProfiler(Profiler.Options.DEFAULT)) {
            profiler.stop();
            assertThatThrownBy(profiler::stop).isInstanceOf(UsageException.Closed.class);
        }
    }

    @Test
    void aProfilerThatWasClosedUnstoppedLeavesThePluginReadyForAnother() {
        Plugin tpu = TestPlugins.tpu();
        tpu.startProfiler(Profiler.Options.DEFAULT).close();
        try (Profiler again = tpu.startProfiler(Profiler.Options.DEFAULT)) {
            assertThat(again.stop().errors()).isEmpty();
        }
    }

    @Test
    void aSecondRecordIsRefusedAndTheFirstGoesOn() {
        Plugin tpu = TestPlugins.tpu();
        try (Profiler first = tpu.startProfiler(Profiler.Options.DEFAULT)) {
            assertThatThrownBy(() -> tpu.startProfiler(Profiler.Options.DEFAULT))
                    .isInstanceOf(StatusException.Unavailable.class);
            assertThat(first.stop().planes()).isNotEmpty();
        }
    }

    @Test
    void aLevelBelowNothingIsRefused() {
        assertThatThrownBy(() -> new Profiler.Options(-1, 0, false)).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aPluginWithoutAProfilerSaysSo() {
        assertThatThrownBy(() -> TestPlugins.cpu().startProfiler(Profiler.Options.DEFAULT))
                .isInstanceOf(UsageException.Unsupported.class)
                .hasMessageContaining("PROFILER");
    }
}
