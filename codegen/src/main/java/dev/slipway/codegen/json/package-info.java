// SPDX-License-Identifier: Apache-2.0

/**
 * From a JSON document to Java that makes its maps, lists and boxes: a program that starts often then has no parser to load and run.
 *
 * <p>{@link dev.slipway.codegen.json.JsonGenerator} writes one class of one method, in the document's order.
 */
package dev.slipway.codegen.json;
