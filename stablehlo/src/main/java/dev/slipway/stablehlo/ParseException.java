// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** A text is not a module. The message has the line, the column and the line itself. */
public final class ParseException extends IrException {
    private static final long serialVersionUID = 1L;

    private final int line;
    private final int column;

    /**
     * An exception at a place of a text.
     *
     * @param what what is wrong
     * @param line the line, from 1
     * @param column the column, from 1
     * @param text the line itself, or what is around the place where it is long
     * @param caret the place in the text, from 0
     */
    public ParseException(String what, int line, int column, String text, int caret) {
        super(line + ":" + column + ": " + what + "\n" + text + "\n" + " ".repeat(caret) + "^");
        this.line = line;
        this.column = column;
    }

    /** The line, from 1. */
    public int line() {
        return line;
    }

    /** The column, from 1. */
    public int column() {
        return column;
    }
}
