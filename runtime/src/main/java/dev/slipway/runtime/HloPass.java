// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.HloPassUpcall;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Clear_Xla_Transform_Args;
import dev.slipway.runtime.internal.abi.PJRT_Register_Xla_Transform_Args;
import dev.slipway.runtime.internal.abi.PJRT_XlaTransform_PipelineStage;
import dev.slipway.runtime.internal.abi.PJRT_Xla_Transform_Extension;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * A pass of the compiler's in Java (the XLA transform extension): it sees every module that the plugin compiles, and may give back
 * another in its place.
 *
 * {@snippet :
 * try (HloPass.Registration look = cpu.registerPass("look", HloPass.Stage.BEFORE_SCHEDULING, module -> {
 *     System.out.println(module.text());
 *     return Optional.empty();
 * })) {
 *     client.compile(program, CompileOptions.defaults()).close();
 * }
 * }
 */
@FunctionalInterface
public interface HloPass {

    /** Where among the compiler's own passes it runs. */
    enum Stage {
        /** The instructions need no order yet (libtpu 0.0.52 gives them one before either stage). */
        BEFORE_SCHEDULING(PJRT_XlaTransform_PipelineStage.kPreScheduler),
        /** The instructions of the module stand in the order in which they will run, and are to do so after. */
        AFTER_SCHEDULING(PJRT_XlaTransform_PipelineStage.kPostScheduler);

        private final int code;

        Stage(int code) {
            this.code = code;
        }
    }

    /**
     * Looks at a module, on a thread of the compiler's; it must not call the plugin.
     *
     * @param module in the format {@code hlo}
     * @return a module in the same format to go on with, with parameters and results as before; empty to go on with the one given
     * @throws Exception and compiling fails, with its text in a {@link StatusException}
     */
    Optional<Program> run(Program module) throws Exception;

    /** A pass that is registered, until closed. */
    final class Registration implements AutoCloseable {
        private final Plugin plugin;
        private final String name;
        private final Stage stage;
        private boolean closed;

        private Registration(Plugin plugin, String name, Stage stage) {
            this.plugin = plugin;
            this.name = name;
            this.stage = stage;
        }

        static Registration of(Plugin plugin, String name, Stage stage, HloPass pass) {
            if (name.isEmpty()) {
                throw new UsageException.BadArgument("a pass needs a name, by which it is taken away again");
            }
            byte[] text = name.getBytes(StandardCharsets.UTF_8);
            Api.Table table = plugin.api().extension(Extension.XLA_TRANSFORM);
            try (Scratch scratch = Scratch.open()) {
                MemorySegment args = PJRT_Register_Xla_Transform_Args.in(scratch);
                PJRT_Register_Xla_Transform_Args.name(
                        args, Native.bytes(scratch, text).address());
                PJRT_Register_Xla_Transform_Args.name_size(args, text.length);
                PJRT_Register_Xla_Transform_Args.stage(args, stage.code);
                PJRT_Register_Xla_Transform_Args.callbacks(
                        args, HloPassUpcall.callbacks(pass).address());
                table.call(PJRT_Xla_Transform_Extension.register_xla_transform, args);
            }
            return new Registration(plugin, name, stage);
        }

        /**
         * Takes the pass away; what is being compiled meanwhile may still see it.
         *
         * @throws UsageException.Closed if it was taken away already
         */
        @Override
        public synchronized void close() {
            if (closed) {
                throw new UsageException.Closed("the pass '" + name + "' was taken away already");
            }
            closed = true;
            byte[] text = name.getBytes(StandardCharsets.UTF_8);
            try (Scratch scratch = Scratch.open()) {
                MemorySegment args = PJRT_Clear_Xla_Transform_Args.in(scratch);
                PJRT_Clear_Xla_Transform_Args.name(
                        args, Native.bytes(scratch, text).address());
                PJRT_Clear_Xla_Transform_Args.name_size(args, text.length);
                PJRT_Clear_Xla_Transform_Args.stage(args, stage.code);
                plugin.api()
                        .extension(Extension.XLA_TRANSFORM)
                        .call(PJRT_Xla_Transform_Extension.clear_xla_transform, args);
            }
        }
    }
}
