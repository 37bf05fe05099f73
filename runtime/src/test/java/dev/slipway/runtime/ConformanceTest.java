// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The conformance run on every plugin that has a name. */
class ConformanceTest {

    @ParameterizedTest
    @EnumSource
    void noCheckFailsOnAnyPlugin(PluginName name) {
        Conformance.Report report = Conformance.check(TestPlugins.load(name), Conformance.Target.of(name), check -> {});
        assertThat(report.checks())
                .filteredOn(check -> check.status() == Conformance.Status.FAILED)
                .isEmpty();
        assertThat(report.count(Conformance.Status.PASS)).isGreaterThanOrEqualTo(40);
    }

    @Test
    void reportsOfTwoPluginsHaveTheSameChecksInTheSameOrder() {
        List<List<String>> names = new ArrayList<>();
        for (PluginName name : List.of(PluginName.CPU, PluginName.CPU_0_81)) {
            names.add(
                    Conformance.check(TestPlugins.load(name), Conformance.Target.of(name), check -> {})
                            .checks()
                            .stream()
                            .map(Conformance.Check::name)
                            .toList());
        }
        assertThat(names.getFirst()).isEqualTo(names.getLast()).doesNotHaveDuplicates();
    }

    @Test
    void theCpuPluginRunsExecutesAndTransfers() {
        Conformance.Report report =
                Conformance.check(TestPlugins.cpu(), Conformance.Target.of(PluginName.CPU), check -> {});
        assertThat(report.checks())
                .filteredOn(check ->
                        check.name().startsWith("execute.") || check.name().startsWith("transfer."))
                .isNotEmpty()
                .allMatch(check -> check.status() == Conformance.Status.PASS);
    }
}
