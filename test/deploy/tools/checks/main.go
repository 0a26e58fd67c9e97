// Command checks does what the scripts of this folder need beyond helm and kubeconform:
//
//	checks crds FOLDER            the kinds of snapshots as a template of a chart, from their module
//	checks schemas SPEC FOLDER    JSON schemas for kubeconform from Kubernetes' OpenAPI document
//	checks crd-schemas FOLDER     the same from CustomResourceDefinitions on standard input
//	checks values CHART           every value of a chart changes what it renders, or is refused
//	checks upstream CHART TABLE   the values of the chart that this one takes the place of are taken
//	checks policy                 rules about objects on standard input
//	checks restricted             whether its Deployments fulfil the profile "restricted"
//
// The oldest trap that it guards against is a value that does nothing.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "crds":
		return crds(args[1])
	case len(args) == 3 && args[0] == "schemas":
		return schemas(args[1], args[2])
	case len(args) == 2 && args[0] == "crd-schemas":
		return crdSchemas(os.Stdin, args[1])
	case len(args) == 2 && args[0] == "values":
		return values(args[1])
	case len(args) == 3 && args[0] == "upstream":
		return upstream(args[1], args[2])
	case len(args) == 1 && args[0] == "policy":
		return policy(os.Stdin)
	case len(args) == 1 && args[0] == "restricted":
		return restricted(os.Stdin)
	}
	return fmt.Errorf("expected crds, schemas, crd-schemas, values, upstream, policy or restricted with their arguments, not %q", args)
}
