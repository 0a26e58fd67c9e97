package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// The kinds that the snapshot controller needs. Groups of snapshots are left out: no driver here makes them.
var kinds = []string{"volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"}

// Prints the kinds as a template of a chart, without the explanations of their fields, which are the
// module's text and make four fifths of it.
func crds(folder string) error {
	fmt.Println("{{- if .Values.snapshot.enabled }}")
	fmt.Println("{{- /* Made by test/deploy/render.sh from the module of these kinds; not to be edited. They stay when the")
	fmt.Println("release is removed, for all snapshots would go with them; and those of another owner are left alone. */}}")
	for _, kind := range kinds {
		name := kind + ".snapshot.storage.k8s.io"
		bytes, err := os.ReadFile(filepath.Join(folder, "snapshot.storage.k8s.io_"+kind+".yaml"))
		if err != nil {
			return err
		}
		crd := object{}
		if err := yaml.Unmarshal(bytes, &crd); err != nil {
			return err
		}
		spec := bare(crd["spec"])
		body, err := yaml.Marshal(object{"spec": spec})
		if err != nil {
			return err
		}
		approved := text(crd, "metadata", "annotations", "api-approved.kubernetes.io")
		fmt.Printf("{{- if include \"azcsi.ours\" (dict \"root\" . \"api\" \"apiextensions.k8s.io/v1\" \"kind\" \"CustomResourceDefinition\" \"name\" %q) }}\n", name)
		fmt.Printf("---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s\n", name)
		fmt.Printf("  labels:\n    {{- include \"azcsi.labels\" . | nindent 4 }}\n")
		fmt.Printf("  annotations:\n    helm.sh/resource-policy: keep\n    api-approved.kubernetes.io: %q\n", approved)
		fmt.Printf("%s{{- end }}\n", body)
	}
	fmt.Println("{{- end }}")
	return nil
}

// The same without descriptions and without the texts of validations.
func bare(from any) any {
	switch from := from.(type) {
	case object:
		kept := object{}
		for key, value := range from {
			_, isText := value.(string)
			if isText && (key == "description" || (key == "message" && from["rule"] != nil)) {
				continue
			}
			kept[key] = bare(value)
		}
		return kept
	case []any:
		kept := make([]any, len(from))
		for i, value := range from {
			kept[i] = bare(value)
		}
		return kept
	}
	return from
}
