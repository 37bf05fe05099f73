// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Objects;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A run of the command line, in this process.
 *
 * @param code the exit code
 * @param out what went to stdout
 * @param err what went to stderr
 */
record Slipway(int code, String out, String err) {
    private static final JsonMapper MAPPER = new JsonMapper();

    static Slipway run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = Main.run(new PrintWriter(out), new PrintWriter(err), arguments);
        return new Slipway(code, out.toString(), err.toString());
    }

    /** The one document on stdout. */
    JsonNode json() {
        return MAPPER.readTree(out);
    }

    /** A golden file of this package's resources. */
    static JsonNode golden(String name) {
        try (InputStream in = Objects.requireNonNull(Slipway.class.getResourceAsStream("golden/" + name), name)) {
            return MAPPER.readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The numbers of a JSON array. */
    static int[] ints(JsonNode array) {
        return array.values().stream().mapToInt(JsonNode::asInt).toArray();
    }
}
