// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Options that a command has but does not read beside others: given all the same, they would do nothing and say nothing. */
final class UnreadOptions {
    private UnreadOptions() {}

    /**
     * Refuses options that were given.
     *
     * @param why what follows an option's name in the message
     */
    static void refuse(CommandSpec command, List<String> options, String why) {
        for (String option : options) {
            if (command.commandLine().getParseResult().hasMatchedOption(option)) {
                throw new ParameterException(command.commandLine(), option + " " + why);
            }
        }
    }
}
