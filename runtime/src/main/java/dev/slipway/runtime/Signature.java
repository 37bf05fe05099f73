// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.ProgramGuards;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a program takes and gives. Plugins look at the sizes of arguments alone: one of another type, or in another order, gives wrong
 * results in silence, so arguments are held against this first.
 */
final class Signature {

    /** A parameter, where it is known, and whether it lies in another order than the plugin's usual one. */
    private record Parameter(@Nullable Shape shape, boolean unusual) {}

    private final String program;
    private final @Nullable List<Parameter> parameters;
    private final List<TensorType> results;
    private final boolean[] unusualResults;

    private Signature(
            String program, @Nullable List<Parameter> parameters, List<TensorType> results, boolean[] unusualResults) {
        this.program = program;
        this.parameters = parameters;
        this.results = results;
        this.unusualResults = unusualResults;
    }

    static Signature of(Client client, Executable executable, List<TensorType> results) {
        List<Parameter> parameters = new ArrayList<>();
        boolean known = true;
        try {
            Program program = executable.optimizedProgram();
            ProgramGuards.checkFeeds(executable.name(), program.code());
            for (Optional<Shape> shape : Executable.parameters(program)) {
                parameters.add(new Parameter(
                        shape.orElse(null),
                        shape.isPresent()
                                && isUnusual(
                                        client, shape.get().type(), shape.get().layout())));
            }
        } catch (StatusException.Unimplemented | UsageException.Unsupported e) {
            known = false; // then the plugin is left to judge
        }
        return new Signature(
                executable.name(), known ? parameters : null, results, unusual(client, executable, results));
    }

    private static boolean[] unusual(Client client, Executable executable, List<TensorType> results) {
        boolean[] unusual = new boolean[results.size()];
        try {
            List<Layout> layouts = executable.outputLayouts();
            for (int i = 0; i < unusual.length && layouts.size() == unusual.length; i++) {
                unusual[i] = isUnusual(client, results.get(i), layouts.get(i));
            }
        } catch (StatusException.Unimplemented | UsageException.Unsupported e) {
            return unusual;
        }
        return unusual;
    }

    private static boolean isUnusual(Client client, TensorType type, Layout layout) {
        if (layout.isRowMajor()) {
            return false;
        }
        try {
            return !layout.isSameOrder(client.defaultLayout(type));
        } catch (StatusException.Unimplemented | UsageException.Unsupported e) {
            return false;
        }
    }

    boolean isResultUnusual(int result) {
        return unusualResults[result];
    }

    /** Refuses a device's arguments. */
    void check(List<Buffer> arguments) {
        for (int i = 0; i < arguments.size(); i++) {
            check(arguments.size(), i, arguments.get(i));
        }
        if (arguments.isEmpty()) {
            checkCount(0);
        }
    }

    /** Refuses so many arguments. */
    void checkCount(int count) {
        if (parameters != null && parameters.size() != count) {
            throw new UsageException.BadArgument(
                    "'" + program + "' takes " + parameters.size() + " arguments, but " + count + " were given");
        }
    }

    /** Refuses an argument of {@code count}. */
    void check(int count, int index, Buffer argument) {
        checkCount(count);
        Parameter parameter = parameters == null ? null : parameters.get(index);
        Shape shape = parameter == null ? null : parameter.shape();
        if (parameter == null) {
            return;
        }
        if (shape == null) {
            if (argument.type().element() != ElementType.TOKEN && argument.dynamicDimensions().length == 0) {
                throw new UsageException.BadArgument("parameter " + index + " of '" + program
                        + "' is a token or of dynamic size, but a buffer of " + argument.type() + " was given");
            }
            return;
        }
        if (!argument.type().equals(shape.type())) {
            throw new UsageException.BadArgument("parameter " + index + " of '" + program + "' is " + shape.type()
                    + ", but a buffer of " + argument.type() + " was given");
        }
        if ((parameter.unusual() || argument.mayLieUnusually())
                && !argument.layout().isSameOrder(shape.layout())) {
            throw new UsageException.BadArgument("parameter " + index + " of '" + program + "' lies as "
                    + shape.layout() + ", but the buffer that was given as " + argument.layout()
                    + ": put it with the parameter's layout");
        }
    }

    /** Refuses to feed a result to a parameter of another type. */
    void checkFeed(int result, int index) {
        Parameter parameter = parameters == null || index >= parameters.size() ? null : parameters.get(index);
        Shape shape = parameter == null ? null : parameter.shape();
        if (parameter == null || shape == null) {
            return;
        }
        if (!results.get(result).equals(shape.type()) || unusualResults[result] != parameter.unusual()) {
            throw new UsageException.BadArgument("result " + result + " of '" + program + "' is " + results.get(result)
                    + " and cannot be fed to parameter " + index + ", which is " + shape);
        }
    }
}
