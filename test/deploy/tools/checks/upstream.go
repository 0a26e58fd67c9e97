package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Whether a chart takes every value of the one that it takes the place of: each path with the default
// that it had there. A table of paths and defaults in JSON, separated by a tab.
func upstream(folder, table string) error {
	loaded, err := loader.Load(folder)
	if err != nil {
		return err
	}
	file, err := os.Open(table)
	if err != nil {
		return err
	}
	defer file.Close()
	var wrong []error
	var refused []string
	count := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		path, text, found := strings.Cut(lines.Text(), "\t")
		if !found || strings.HasPrefix(path, "#") {
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		count++
		with := copied(loaded.Values)
		set(with, path, value)
		_, err := render(loaded, with)
		switch {
		case err != nil && strings.Contains(err.Error(), "refused: "):
			refused = append(refused, path)
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s=%s: %w", path, text, err))
		}
	}
	if count < 100 {
		wrong = append(wrong, fmt.Errorf("only %d values were found", count))
	}
	if len(wrong) == 0 {
		fmt.Printf("%s: %d values taken, refused with the reason: %s\n", loaded.Name(), count-len(refused), strings.Join(refused, ", "))
	}
	return errors.Join(append(wrong, lines.Err())...)
}
