// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.junit.jupiter.api.Test;

/** The arrows of docs/design: dependencies point one way. */
class HouseTest {
    private static final JavaClasses HOUSE = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("dev.slipway");

    @Test
    void topologyKnowsNoOtherRoom() {
        onlyKnows("topology");
    }

    @Test
    void stablehloIsUsefulAlone() {
        onlyKnows("stablehlo");
    }

    @Test
    void meshStandsOnTopology() {
        onlyKnows("mesh", "topology");
    }

    @Test
    void runtimeStandsOnTopologyAndKnowsNoModels() {
        onlyKnows("runtime", "topology");
    }

    @Test
    void loweringStandsOnMeshAndStablehlo() {
        onlyKnows("lowering", "mesh", "topology", "stablehlo");
    }

    @Test
    void checkpointStandsOnLowering() {
        onlyKnows("checkpoint", "lowering", "mesh", "topology", "stablehlo");
    }

    @Test
    void aotJoinsMeshLoweringAndRuntime() {
        onlyKnows("aot", "lowering", "mesh", "topology", "stablehlo", "runtime");
    }

    @Test
    void noRoomDependsOnItselfThroughAnother() {
        slices().matching("dev.slipway.(*)..").should().beFreeOfCycles().check(HOUSE);
    }

    private static void onlyKnows(String room, String... others) {
        String[] allowed = new String[others.length + 1];
        allowed[0] = "dev.slipway." + room + "..";
        for (int i = 0; i < others.length; i++) {
            allowed[i + 1] = "dev.slipway." + others[i] + "..";
        }
        ArchRuleDefinition.noClasses()
                .that()
                .resideInAPackage("dev.slipway." + room + "..")
                .should()
                .dependOnClassesThat(com.tngtech.archunit.base.DescribedPredicate.describe(
                        "are in a room that " + room + " does not stand on",
                        type -> type.getPackageName().startsWith("dev.slipway.")
                                && !com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage(allowed)
                                        .test(type)))
                .allowEmptyShould(true)
                .check(HOUSE);
    }
}
