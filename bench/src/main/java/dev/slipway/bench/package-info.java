// SPDX-License-Identifier: Apache-2.0

/** JMH benchmarks: compile latency first. */
package dev.slipway.bench;
