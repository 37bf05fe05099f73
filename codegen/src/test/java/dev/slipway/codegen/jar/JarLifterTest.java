// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.jar;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarLifterTest {
    @TempDir
    private Path folder;

    @Test
    void aClassOfJava5GetsStackMapsAndDoesWhatItDid() throws Exception {
        Path jar = jar(ClassFile.JAVA_5_VERSION);

        JarLifter.main(new String[] {jar.toString()});

        assertThat(ClassFile.of().parse(entry(jar, "Sign.class")).majorVersion())
                .isEqualTo(ClassFile.JAVA_8_VERSION);
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
            // A class of Java 8 with a branch and no stack map is refused here.
            var sign = loader.loadClass("Sign").getMethod("of", int.class);
            assertThat(sign.invoke(null, -3)).isEqualTo(-1);
            assertThat(sign.invoke(null, 3)).isEqualTo(1);
        }
    }

    @Test
    void newerClassesAndOtherFilesStayAsTheyAre() throws Exception {
        Path jar = jar(ClassFile.JAVA_8_VERSION);
        byte[] before = entry(jar, "Sign.class");

        JarLifter.main(new String[] {jar.toString()});

        assertThat(entry(jar, "Sign.class")).isEqualTo(before);
        assertThat(entry(jar, "words.txt")).asString().isEqualTo("some words");
    }

    private Path jar(int version) throws IOException {
        byte[] sign = ClassFile.of(ClassFile.StackMapsOption.STACK_MAPS_WHEN_REQUIRED)
                .build(
                        ClassDesc.of("Sign"),
                        type -> type.withVersion(version, 0)
                                .withMethodBody(
                                        "of",
                                        MethodTypeDesc.of(ConstantDescs.CD_int, ConstantDescs.CD_int),
                                        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                                        code -> code.iload(0)
                                                .ifThenElse(
                                                        java.lang.classfile.Opcode.IFLT,
                                                        negative -> negative.iconst_m1()
                                                                .ireturn(),
                                                        positive -> positive.iconst_1()
                                                                .ireturn())));
        Path jar = folder.resolve("some.jar");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            out.putNextEntry(new ZipEntry("Sign.class"));
            out.write(sign);
            out.putNextEntry(new ZipEntry("words.txt"));
            out.write("some words".getBytes(StandardCharsets.UTF_8));
        }
        return jar;
    }

    private static byte[] entry(Path jar, String name) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            return zip.getInputStream(zip.getEntry(name)).readAllBytes();
        }
    }
}
