// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.base.Strings;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Inputs made to exhaust the stack, the memory or the patience of a reader. */
class HostileInputTest {
    /** Half of what a thread has by default on 64-bit Linux. */
    private static final long SMALL_STACK = 512 << 10;

    private static final String SMALL = "func.func @f(%x: tensor<2xf32>) { return }";

    private static final String TOO_DEEP = "nested deeper than 128 levels";

    private static <T> T onASmallStack(Callable<T> work) throws Exception {
        FutureTask<T> task = new FutureTask<>(work);
        Thread thread = new Thread(null, task, "small stack", SMALL_STACK);
        thread.start();
        return task.get();
    }

    private static String attribute(String value) {
        return "\"a.b\"() {x = " + value + "} : () -> ()";
    }

    /** Everything that walks over a module. */
    private static void use(Module module) {
        Module again = Module.fromBytecode(module.toBytecode());
        assertThat(again.toString()).isEqualTo(module.toString());
        assertThat(again.operation().attributes())
                .isEqualTo(module.operation().attributes())
                .hasSameHashCodeAs(module.operation().attributes());
        Verifier.diagnose(module);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            ignoreLeadingAndTrailingWhitespace = false,
            value = {
                "|[||",
                "|{a = ||",
                "|tuple<||",
                "|() -> (||",
                "|tensor<f32, ||",
                "loc(|fused[||",
                "loc(|callsite(||",
                "loc(|\"a\"(||",
                "!quant.uniform<i8:f32:{0:1}, |{||",
                "dense<|[|]|> : tensor<1xi8>",
            })
    void whatIsNestedTooDeeplyInATextIsRefused(
            @Nullable String before, String open, @Nullable String close, @Nullable String after) throws Exception {
        String text = attribute(Strings.nullToEmpty(before)
                + open.repeat(100_000)
                + Strings.nullToEmpty(close).repeat(100_000)
                + Strings.nullToEmpty(after));
        onASmallStack(() -> assertThatThrownBy(() -> Module.parse(text))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(TOO_DEEP));
    }

    @Test
    void listsOf120LevelsAreReadAndUsedOnASmallStack() throws Exception {
        String text = attribute("[".repeat(120) + "]".repeat(120));
        onASmallStack(() -> {
            use(Module.parse(text));
            return 0;
        });
    }

    @Test
    void regionsOf120LevelsAreReadAndUsedOnASmallStack() throws Exception {
        String branch = "\"stablehlo.case\"(%i) ({\n";
        String text = "func.func @f(%i: tensor<i32>) {\n"
                + branch.repeat(120)
                + "stablehlo.return\n"
                + "}) : (tensor<i32>) -> ()\nstablehlo.return\n".repeat(119)
                + "}) : (tensor<i32>) -> ()\nreturn\n}";
        onASmallStack(() -> {
            use(Module.parse(text));
            return 0;
        });
    }

    @Test
    void regionsThatAreNestedTooDeeplyAreRefused() throws Exception {
        String text = "\"a.b\"() ({\n".repeat(100_000);
        onASmallStack(() -> assertThatThrownBy(() -> Module.parse(text))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(TOO_DEEP));
    }

    @Test
    void aliasesDoNotHideDepth() {
        StringBuilder text = new StringBuilder("#a0 = []\n");
        for (int i = 1; i <= 300; i++) {
            text.append("#a").append(i).append(" = [#a").append(i - 1).append("]\n");
        }
        assertThatThrownBy(() -> Module.parse(text + attribute("#a300")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(TOO_DEEP);
    }

    @Test
    void aliasesThatUnfoldWithoutEndAreRefused() {
        StringBuilder text = new StringBuilder("#a0 = []\n");
        for (int i = 1; i <= 60; i++) {
            text.append("#a%d = [#a%d, #a%d]\n".formatted(i, i - 1, i - 1));
        }
        assertThatThrownBy(() -> Module.parse(text + attribute("#a60")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("unfold to more than");
    }

    @Test
    void anAliasOfItselfIsRefused() {
        assertThatThrownBy(() -> Module.parse("#a = [#b]\n#b = [#a]\n" + attribute("#a")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("is defined by itself");
    }

    @Test
    void bytecodeThatIsNestedTooDeeplyIsRefused() throws Exception {
        Attribute deep = Attribute.array();
        for (int i = 0; i < 300; i++) {
            deep = Attribute.array(deep);
        }
        byte[] bytecode = moduleWith(deep).toBytecode();
        onASmallStack(() -> assertThatThrownBy(() -> Module.fromBytecode(bytecode))
                .isInstanceOf(BytecodeException.class)
                .hasMessageContaining(TOO_DEEP));
    }

    @Test
    void bytecodeThatUnfoldsWithoutEndIsRefused() {
        Attribute wide = Attribute.array();
        for (int i = 0; i < 16; i++) {
            wide = Attribute.array(wide, wide);
        }
        Attribute[] many = new Attribute[64];
        Arrays.fill(many, wide);
        byte[] bytecode = moduleWith(Attribute.array(many)).toBytecode();
        assertThatThrownBy(() -> Module.fromBytecode(bytecode))
                .isInstanceOf(BytecodeException.class)
                .hasMessageContaining("unfold to more than");
    }

    private static Module moduleWith(Attribute value) {
        return Module.of(Attribute.Dictionary.of("x", value), List.of());
    }

    @Test
    void lengthsThatTheBytesDoNotHoldAreRefused() {
        byte[] bytecode = Module.parse(SMALL).toBytecode();
        for (int i = 5; i < bytecode.length; i++) {
            byte[] broken = bytecode.clone();
            // A number of nine bytes, larger than 2^56, in the place of each number.
            Arrays.fill(broken, i, Math.min(broken.length, i + 9), (byte) 0x7F);
            broken[i] = 0;
            assertThatCode(() -> FuzzTargets.Bytecode.fuzzerTestOneInput(broken))
                    .doesNotThrowAnyException();
        }
    }

    @Test
    void bytecodeThatEndsEarlyIsRefusedUnlessTheRestSaysNothing() {
        byte[] bytecode = Module.parse(SMALL).toBytecode();
        for (int length = 0; length < bytecode.length; length++) {
            byte[] cut = Arrays.copyOf(bytecode, length);
            assertThatCode(() -> FuzzTargets.Bytecode.fuzzerTestOneInput(cut)).doesNotThrowAnyException();
        }
        assertThatThrownBy(() -> Module.fromBytecode(Arrays.copyOf(bytecode, bytecode.length / 2)))
                .isInstanceOf(BytecodeException.class);
    }

    @Test
    void moreNamesThanResultsAreRefusedAlsoWhereTheirSumOverflows() {
        String names = "%a:1048576, ".repeat(4095) + "%b:1048576 = \"a.b\"() : () -> ()";
        assertThatThrownBy(() -> Module.parse(names)).isInstanceOf(ParseException.class);
    }

    @Test
    void aMessageAboutALongLineShowsThePlaceOnly() {
        String text = " ".repeat(1_000_000) + "?";
        assertThatThrownBy(() -> Module.parse(text)).isInstanceOfSatisfying(ParseException.class, e -> {
            assertThat(e.column()).isEqualTo(1_000_001);
            assertThat(e.getMessage()).hasSizeLessThan(1000).endsWith(" ^");
            List<String> lines = e.getMessage().lines().toList();
            assertThat(lines.get(1).charAt(lines.get(2).length() - 1)).isEqualTo('?');
        });
    }
}
