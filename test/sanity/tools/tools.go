//go:build tools

// Package tools pins the programs that the conformance suite builds. Importing a main package
// here makes go.mod and go.sum cover it and all that it needs.
package tools

import _ "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
