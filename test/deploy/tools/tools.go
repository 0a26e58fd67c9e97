//go:build tools

// Package tools pins the programs that the checks of the manifests run. Importing a main package here
// makes go.mod and go.sum cover it and all that it needs.
package tools

import (
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "helm.sh/helm/v4/cmd/helm"
)
