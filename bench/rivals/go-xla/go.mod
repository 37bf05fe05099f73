module slipway.dev/rivals/go-xla

go 1.25

require github.com/gomlx/go-xla v0.1.4

require (
	github.com/pkg/errors v0.9.1 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	google.golang.org/protobuf v1.36.10 // indirect
)
