// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code slipway plugins}. */
class PluginsCommandTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), arguments);
    }

    @Test
    void theListNamesEveryPluginWithItsPinnedPackages() {
        assertThat(run("plugins", "list", "--json")).isZero();
        JsonNode plugins = JsonMapper.shared().readTree(out.toString()).get("plugins");
        assertThat(plugins.findValuesAsString("name")).contains("cpu", "tpu", "cuda", "libtpu");
        plugins.findValuesAsString("sha256").forEach(hash -> assertThat(hash).hasSize(64));
    }

    @Test
    void aCheckIsATableAndTheSameAsJson() {
        assertThat(run("plugins", "check", "cpu")).isZero();
        assertThat(out.toString()).contains("execute.one_device", "0 failed");
        out.getBuffer().setLength(0);
        assertThat(run("plugins", "check", "cpu", "--json")).isZero();
        JsonNode report = JsonMapper.shared().readTree(out.toString());
        assertThat(report.get("failed").asInt()).isZero();
        assertThat(report.get("checks").size()).isGreaterThan(60);
        assertThat(report.get("checks").get(0).get("name").asString()).isEqualTo("plugin.version");
    }

    @Test
    void anUnknownNameIsOneLineWithTheNamesThereAre() {
        assertThat(run("plugins", "install", "gpu")).isEqualTo(1);
        assertThat(err.toString().strip())
                .contains("no plugin is called 'gpu'", "cuda")
                .doesNotContain("\n");
    }
}
