// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/** Rows of cells in aligned columns; numbers to the right. Built by {@link #row}, printed once. */
final class Table {
    private static final Pattern ESCAPE = Pattern.compile("\033\\[[0-9;]*m");
    private static final Pattern NUMBER = Pattern.compile("[-+]?[0-9][0-9,.]*(e[-+][0-9]+)?(\\s?[%A-Za-z/]+)?");

    private final List<String> header;
    private final List<List<String>> rows = new ArrayList<>();

    private Table(List<String> header) {
        this.header = header;
    }

    /** A table with column heads; none for a table of names and values. */
    static Table of(String... header) {
        return new Table(List.of(header));
    }

    /** Adds a row. */
    Table row(Object... cells) {
        rows.add(Arrays.stream(cells).map(String::valueOf).toList());
        return this;
    }

    /** Prints the table, indented by two spaces. */
    void print(PrintWriter to, Terminal terminal) {
        int columns =
                Math.max(header.size(), rows.stream().mapToInt(List::size).max().orElse(0));
        int[] widths = new int[columns];
        boolean[] numeric = new boolean[columns];
        Arrays.fill(numeric, true);
        for (List<String> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                String cell = bare(row.get(i));
                widths[i] = Math.max(widths[i], cell.length());
                numeric[i] &= cell.isEmpty()
                        || cell.equals("-")
                        || NUMBER.matcher(cell).matches();
            }
        }
        for (int i = 0; i < header.size(); i++) {
            widths[i] = Math.max(widths[i], header.get(i).length());
        }
        if (!header.isEmpty()) {
            to.println(line(header.stream().map(terminal::dim).toList(), widths, numeric));
        }
        rows.forEach(row -> to.println(line(row, widths, numeric)));
    }

    private static String line(List<String> row, int[] widths, boolean[] numeric) {
        StringBuilder line = new StringBuilder(" ");
        for (int i = 0; i < row.size(); i++) {
            String gap = String.join(
                    "", Collections.nCopies(widths[i] - bare(row.get(i)).length(), " "));
            line.append(' ')
                    .append(numeric[i] ? gap + row.get(i) : row.get(i) + gap)
                    .append(' ');
        }
        return line.toString().stripTrailing();
    }

    private static String bare(String cell) {
        return ESCAPE.matcher(cell).replaceAll("");
    }
}
