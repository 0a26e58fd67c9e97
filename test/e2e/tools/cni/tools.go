//go:build tools

// Package tools pins the programs of this module: an imported main package makes go.mod and go.sum
// cover it and all that it needs.
package tools

import (
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/bridge"
	_ "github.com/containernetworking/plugins/plugins/main/loopback"
)
