// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.Topologies;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How AXLearn's programs are written where element types are narrow, without a plugin. */
class AxlearnFormTest {
    private static final DecoderConfig MODEL = DecoderConfig.llama(llama -> llama.vocabulary(97)
            .width(64)
            .depth(2)
            .heads(4, 2, 16)
            .feedForward(128)
            .maxPositions(256)
            .tiedHead());
    private static final Mesh MESH = Mesh.of(Topologies.resolve("v5e-1"), MeshSpec.of(List.of("data", "model"), 1, 1));

    private static String text(Form form) {
        return text(form, MESH);
    }

    private static String text(Form form, Mesh mesh) {
        return AxlearnPrograms.of(MODEL, form, mesh, ParameterLayout.AXLEARN)
                .sampleDecode(SampleDecode.axlearn(), InputBatchSpec.prefix(4, 32))
                .module()
                .toString();
    }

    @Test
    void productsOfBfloat16AreRoundedToIt() {
        List<String> lines = text(Form.scanned(ElementType.BF16)).lines().toList();

        assertThat(lines).anyMatch(line -> line.contains("dot_general"));
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).contains("dot_general")) {
                boolean rounded = lines.get(i).endsWith("bf16>")
                        || (lines.get(i + 1).contains("stablehlo.convert")
                                && lines.get(i + 1).endsWith("bf16>"));
                assertThat(rounded).as(lines.get(i)).isTrue();
            }
        }
    }

    @Test
    void theLogisticFunctionOfBfloat16IsWrittenOut() {
        assertThat(text(Form.scanned(ElementType.BF16))).doesNotContain("logistic");
        assertThat(text(Form.scanned(ElementType.F32))).contains("logistic");
    }

    @Test
    void promptsAreReadInPassesWhereTheCacheHoldsWhatWasMade() {
        Form form = Form.scanned(ElementType.BF16);

        assertThat(text(form.withTokensPerPass(16))).isNotEqualTo(text(form));
    }

    /** A later pass would attend to what the cache has rounded, where AXLearn attends to what was made. */
    @Test
    void promptsAreReadAtOnceWhereTheCacheIsNarrower() {
        Form form = Form.scanned(ElementType.F32).withCache(ElementType.BF16);

        assertThat(text(form.withTokensPerPass(16))).isEqualTo(text(form));
    }

    /** Else each device computes the activation function of all rows, and libtpu anew for each part of the next product. */
    @Test
    void whatMatricesCutAlongTheirInputsGiveGoesBackToItsRowsBeforeTheNextProduct() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-4"), MeshSpec.of(List.of("fsdp"), 4));

        assertThat(text(Form.scanned(ElementType.BF16), mesh).lines().map(String::strip))
                .as("gate and up of a step")
                .filteredOn(line -> line.contains("sharding_constraint")
                        && line.endsWith("<@mesh, [{\"fsdp\"}, {}, {}]> : tensor<4x1x128xbf16>"))
                .hasSize(2);
    }
}
