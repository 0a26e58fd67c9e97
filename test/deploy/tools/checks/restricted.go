package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Kinds of volumes that the profile allows.
var volumes = []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}

// Whether every Deployment fulfils the profile "restricted" of the pod security standards
// (kubernetes.io, concepts, security, pod security standards).
func restricted(from io.Reader) error {
	all, err := objects(from)
	if err != nil {
		return err
	}
	count := 0
	var broken []error
	for _, one := range all {
		if text(one, "kind") != "Deployment" {
			continue
		}
		count++
		for _, found := range violations(podSpec(one)) {
			broken = append(broken, fmt.Errorf("%s: %s", title(one), found))
		}
	}
	if count == 0 {
		return errors.New("there is no Deployment on standard input")
	}
	return errors.Join(broken...)
}

func violations(pod object) []string {
	var found []string
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if field(pod, key) == true {
			found = append(found, key)
		}
	}
	if field(pod, "securityContext", "runAsNonRoot") != true {
		found = append(found, "may run as root")
	}
	if text(pod, "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		found = append(found, "no seccomp profile")
	}
	for _, volume := range list(pod, "volumes") {
		for key := range volume.(object) {
			if key != "name" && !slices.Contains(volumes, key) {
				found = append(found, fmt.Sprintf("volume %s of kind %s", text(volume, "name"), key))
			}
		}
	}
	for _, container := range list(pod, "containers") {
		name, context := text(container, "name"), field(container, "securityContext")
		if field(context, "privileged") == true || field(context, "allowPrivilegeEscalation") != false {
			found = append(found, "container "+name+" may gain rights")
		}
		if !slices.Contains(list(context, "capabilities", "drop"), any("ALL")) || len(list(context, "capabilities", "add")) > 0 {
			found = append(found, "container "+name+" has capabilities")
		}
		for _, port := range list(container, "ports") {
			if host, ok := field(port, "hostPort").(float64); ok && host != 0 {
				found = append(found, "container "+name+" uses a port of the machine")
			}
		}
	}
	return found
}
