// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/**
 * Something wrong with one operation.
 *
 * @param operation the operation's full name
 * @param location where it comes from
 * @param message what is wrong
 */
public record Diagnostic(String operation, Location location, String message) {
    @Override
    public String toString() {
        String at = location instanceof Location.Unknown ? "" : location + ": ";
        return at + operation + ": " + message;
    }
}
