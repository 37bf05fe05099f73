// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.jar;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/** Gives the classes of a jar that are older than Java 6 the format of Java 8, with stack maps; all else stays as it is. */
public final class JarLifter {
    private final ClassFile classFile;

    private JarLifter(Map<String, byte[]> entries) {
        ClassHierarchyResolver own = ClassHierarchyResolver.ofResourceParsing(type -> {
            String name = type.descriptorString();
            byte[] bytes = entries.get(name.substring(1, name.length() - 1) + ".class");
            return bytes == null ? null : new ByteArrayInputStream(bytes);
        });
        this.classFile = ClassFile.of(
                ClassFile.StackMapsOption.GENERATE_STACK_MAPS,
                ClassFile.ClassHierarchyResolverOption.of(own.orElse(ClassHierarchyResolver.defaultResolver())));
    }

    /** {@code args}: the jar, which is replaced. */
    public static void main(String[] args) throws IOException {
        Path jar = Path.of(args[0]);
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipInputStream in = new ZipInputStream(Files.newInputStream(jar))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                entries.put(entry.getName(), in.readAllBytes());
            }
        }
        JarLifter lifter = new JarLifter(entries);
        Path lifted = jar.resolveSibling(jar.getFileName() + ".lifted");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(lifted))) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                ZipEntry written = new ZipEntry(entry.getKey());
                written.setTime(0); // the same jar from the same jar
                out.putNextEntry(written);
                out.write(lifter.lift(entry.getKey(), entry.getValue()));
                out.closeEntry();
            }
        }
        Files.move(lifted, jar, StandardCopyOption.REPLACE_EXISTING);
    }

    private byte[] lift(String name, byte[] bytes) {
        if (!name.endsWith(".class")) {
            return bytes;
        }
        ClassModel old = classFile.parse(bytes);
        if (old.majorVersion() >= ClassFile.JAVA_6_VERSION) {
            return bytes;
        }
        ClassTransform version = ClassTransform.endHandler(builder -> builder.withVersion(ClassFile.JAVA_8_VERSION, 0));
        // Code that passes through a transformation is written anew, with its stack maps.
        return classFile.transformClass(
                old,
                ClassTransform.dropping(ClassFileVersion.class::isInstance)
                        .andThen(ClassTransform.transformingMethodBodies(CodeTransform.ACCEPT_ALL))
                        .andThen(version));
    }
}
