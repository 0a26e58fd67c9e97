package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// Every object of a stream of YAML documents.
func objects(from io.Reader) ([]object, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(from))
	var all []object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		one := object{}
		if err := yaml.Unmarshal(document, &one); err != nil {
			return nil, fmt.Errorf("document %d: %w", len(all)+1, err)
		}
		if len(one) > 0 {
			all = append(all, one)
		}
	}
}

// A field below others; nil where one is missing.
func field(from any, path ...string) any {
	for _, key := range path {
		parent, ok := from.(object)
		if !ok {
			return nil
		}
		from = parent[key]
	}
	return from
}

func text(from any, path ...string) string {
	found, _ := field(from, path...).(string)
	return found
}

func list(from any, path ...string) []any {
	found, _ := field(from, path...).([]any)
	return found
}

func title(of object) string {
	return text(of, "kind") + "/" + text(of, "metadata", "name")
}
