// SPDX-License-Identifier: Apache-2.0

// Builds chains of additions with go-xla's StableHLO builder, and prints one JSON object of seconds.
//
// usage: go-xla OPS TIMES
package main

import (
	"encoding/json"
	"os"
	"strconv"
	"time"

	"github.com/gomlx/go-xla/pkg/stablehlo"
	"github.com/gomlx/go-xla/pkg/types/dtypes"
	"github.com/gomlx/go-xla/pkg/types/shapes"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func chain(ops int) []byte {
	builder := stablehlo.New("chain")
	main := builder.Main()
	value := must(main.NamedInput("x", shapes.Make(dtypes.F32, 8, 128)))
	for range ops {
		value = must(stablehlo.Add(value, value))
	}
	if err := main.Return(value); err != nil {
		panic(err)
	}
	return must(builder.Build())
}

func main() {
	ops, times := must(strconv.Atoi(os.Args[1])), must(strconv.Atoi(os.Args[2]))
	var seconds []float64
	var text []byte
	for range times {
		begin := time.Now()
		text = chain(ops)
		seconds = append(seconds, time.Since(begin).Seconds())
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"build_s": seconds[len(seconds)/2:], "module_bytes": len(text)})
}
