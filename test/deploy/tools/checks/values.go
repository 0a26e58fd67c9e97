package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// Values that show only together with another one, which is switched on first.
var together = []struct{ under, with string }{
	{"snapshot", "snapshot.enabled=true"},
	{"serviceAccount.snapshotController", "snapshot.enabled=true"},
	{"snapshot.VolumeSnapshotClass", "snapshot.VolumeSnapshotClass.enabled=true"},
	{"image.csiAttacher", "controller.attachRequired=true"},
	{"image.livenessProbe", "node.sidecars=true"},
	{"image.nodeDriverRegistrar", "node.sidecars=true"},
	{"linux.resources.livenessProbe", "node.sidecars=true"},
	{"linux.resources.nodeDriverRegistrar", "node.sidecars=true"},
	{"node.nodeDriverRegistrar", "node.sidecars=true"},
	{"controller.resources.livenessProbe", "controller.livenessProbe.sidecar=true"},
	{"image.trafficManager", "controller.enableTrafficManager=true"},
	{"metrics.podMonitor", "metrics.podMonitor.enabled=true"},
	{"workloadIdentity.tenantID", "workloadIdentity.clientID=id"},
}

// Values that are read only when the driver runs, or while something is refused.
func silent(path string) bool {
	return path == "snapshot.name" || strings.HasPrefix(path, "windows.") || strings.Contains(path, ".otelTracing.otel")
}

// Changes one value after the other. Each must change what is rendered, or be refused.
func values(folder string) error {
	loaded, err := loader.Load(folder)
	if err != nil {
		return err
	}
	var idle []error
	refused, count := 0, 0
	for _, path := range leaves("", loaded.Values) {
		if silent(path) {
			continue
		}
		count++
		changed, err := changes(loaded, path)
		switch {
		case err != nil && strings.Contains(err.Error(), "refused: "):
			refused++
		case err != nil:
			idle = append(idle, fmt.Errorf("%s: %w", path, err))
		case !changed:
			idle = append(idle, fmt.Errorf("%s does nothing", path))
		}
	}
	if count < 100 {
		idle = append(idle, fmt.Errorf("only %d values were found", count))
	}
	if len(idle) == 0 {
		fmt.Printf("%s: %d values, each with an effect, %d of them refused with the reason\n", loaded.Name(), count, refused)
	}
	return errors.Join(idle...)
}

// Paths of what is no map, and of maps that are empty.
func leaves(prefix string, from object) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(from)) {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		if below, ok := from[key].(object); ok && len(below) > 0 {
			found = append(found, leaves(path, below)...)
		} else {
			found = append(found, path)
		}
	}
	return found
}

func changes(of *chart.Chart, path string) (bool, error) {
	base := copied(of.Values)
	for _, one := range together {
		name, value, _ := strings.Cut(one.with, "=")
		if strings.HasPrefix(path+".", one.under+".") && path != name {
			if get(base, name) == nil {
				continue // not a value of this chart
			}
			if value == "true" {
				set(base, name, true)
			} else {
				set(base, name, value)
			}
		}
	}
	before, err := render(of, base)
	if err != nil {
		return false, err
	}
	var last error
	for _, other := range others(get(base, path), path) {
		changed := copied(base)
		set(changed, path, other)
		after, err := render(of, changed)
		if err == nil {
			return before != after, nil
		}
		last = err
	}
	return false, last
}

// Other values of the same type; the first one that the schema allows is taken.
func others(value any, path string) []any {
	item := object{"name": "other", "parameters": object{"skuName": "Premium_LRS"}}
	switch value := value.(type) {
	case bool:
		return []any{!value}
	case float64:
		return []any{value + 1, value - 1, value + 10}
	case string:
		return []any{"fedora", "AzureStackCloud", "Recreate", "Always", "Retain", "vmss", "false", "1m", "enforce", "OnDelete", "0755", "/other", "other.io", "None", "9"}
	case object:
		if strings.HasSuffix(strings.ToLower(path), "affinity") {
			return []any{object{"podAffinity": object{}}}
		}
		return []any{object{"other": "value"}}
	case []any:
		if len(value) > 0 {
			return []any{[]any{}, []any{object{"key": "other"}}}
		}
		return []any{[]any{item}, []any{"other"}, []any{object{"name": "other"}}}
	}
	return []any{"other"}
}

func render(of *chart.Chart, with object) (string, error) {
	release := common.ReleaseOptions{Name: "r", Namespace: "ns", IsInstall: true}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")
	full, err := util.ToRenderValues(of, with, release, capabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(of, full)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			all.WriteString(files[name])
		}
	}
	return all.String(), nil
}

// A copy with the types that JSON has.
func copied(from object) object {
	to := object{}
	bytes, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(bytes, &to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

func get(from object, path string) any {
	return field(from, strings.Split(path, ".")...)
}

func set(in object, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		below, ok := in[key].(object)
		if !ok {
			below = object{}
			in[key] = below
		}
		in = below
	}
	in[keys[len(keys)-1]] = value
}
