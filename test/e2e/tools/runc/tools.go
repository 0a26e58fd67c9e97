//go:build tools

// Package tools pins the programs of this module: an imported main package makes go.mod and go.sum
// cover it and all that it needs.
package tools

import (
	_ "github.com/opencontainers/runc"
)
