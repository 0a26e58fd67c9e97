package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// One schema per kind from Kubernetes' OpenAPI document (api/openapi-spec/swagger.json of its module).
// Strict: what an object must not have is refused, as `kubectl apply` of today does.
func schemas(spec, folder string) error {
	bytes, err := os.ReadFile(spec)
	if err != nil {
		return err
	}
	var document struct{ Definitions object }
	if err := json.Unmarshal(bytes, &document); err != nil {
		return err
	}
	for name, definition := range document.Definitions {
		strict(definition)
		if name == "io.k8s.apimachinery.pkg.util.intstr.IntOrString" || name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
			document.Definitions[name] = object{"type": []string{"string", "number"}}
		}
	}
	for name, definition := range document.Definitions {
		for _, kind := range list(definition, "x-kubernetes-group-version-kind") {
			schema := object{
				"$schema":     "http://json-schema.org/draft-07/schema#",
				"$ref":        "#/definitions/" + name,
				"definitions": document.Definitions,
			}
			if err := write(folder, kind, reachable(schema, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// The schema with those definitions only that its kind needs.
func reachable(schema object, name string) object {
	all := schema["definitions"].(object)
	needed, queue := object{}, []string{name}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if _, seen := needed[next]; seen {
			continue
		}
		needed[next] = all[next]
		queue = append(queue, references(all[next])...)
	}
	schema["definitions"] = needed
	return schema
}

func references(from any) []string {
	var found []string
	switch from := from.(type) {
	case object:
		if target, ok := from["$ref"].(string); ok {
			found = append(found, strings.TrimPrefix(target, "#/definitions/"))
		}
		for _, value := range from {
			found = append(found, references(value)...)
		}
	case []any:
		for _, value := range from {
			found = append(found, references(value)...)
		}
	}
	return found
}

// The same from CustomResourceDefinitions.
func crdSchemas(from io.Reader, folder string) error {
	all, err := objects(from)
	if err != nil {
		return err
	}
	for _, crd := range all {
		if text(crd, "kind") != "CustomResourceDefinition" {
			continue
		}
		for _, version := range list(crd, "spec", "versions") {
			schema, _ := field(version, "schema", "openAPIV3Schema").(object)
			strict(schema)
			properties, _ := schema["properties"].(object)
			if properties != nil {
				properties["apiVersion"], properties["kind"] = object{"type": "string"}, object{"type": "string"}
				properties["metadata"] = object{"type": "object"}
			}
			kind := object{"group": text(crd, "spec", "group"), "version": text(version, "name"), "kind": text(crd, "spec", "names", "kind")}
			if err := write(folder, kind, schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// Refuses properties that an object does not declare.
func strict(schema any) {
	switch schema := schema.(type) {
	case object:
		properties, ok := schema["properties"].(object)
		_, open := schema["additionalProperties"]
		preserved, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool)
		if ok && !open && !preserved {
			schema["additionalProperties"] = false
		}
		for _, one := range properties {
			strict(one)
		}
		for _, key := range []string{"items", "additionalProperties"} {
			strict(schema[key])
		}
	}
}

// kubeconform looks for <kind>-<first label of the group>-<version>.json, in lower case.
func write(folder string, kind any, schema object) error {
	group := strings.Split(text(kind, "group"), ".")[0]
	name := text(kind, "kind")
	if group != "" {
		name += "-" + group
	}
	name += "-" + text(kind, "version")
	bytes, err := json.Marshal(schema)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(folder, strings.ToLower(name)+".json"), bytes, 0o644)
}
