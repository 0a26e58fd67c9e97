package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Rules that hold for every object that the charts render.
func policy(from io.Reader) error {
	all, err := objects(from)
	if err != nil {
		return err
	}
	var broken []error
	for _, one := range all {
		for _, rule := range []func(object) error{roles, provisionerRole, controllers, provisioner, nodes, everyContainer, snapshotKinds} {
			if err := rule(one); err != nil {
				broken = append(broken, fmt.Errorf("%s: %w", title(one), err))
			}
		}
	}
	broken = append(broken, bindings(all)...)
	if len(all) == 0 {
		return errors.New("there is no object on standard input")
	}
	return errors.Join(broken...)
}

// No wildcard; no Secret of the whole cluster can be listed; nobody may hand out rights.
func roles(one object) error {
	kind := text(one, "kind")
	if kind != "ClusterRole" && kind != "Role" {
		return nil
	}
	for _, rule := range list(one, "rules") {
		resources, verbs := list(rule, "resources"), list(rule, "verbs")
		if slices.Contains(resources, any("*")) || slices.Contains(verbs, any("*")) || slices.Contains(list(rule, "apiGroups"), any("*")) {
			return errors.New("a rule with '*'")
		}
		for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
			if slices.Contains(verbs, any(verb)) {
				return fmt.Errorf("a rule with the verb %s", verb)
			}
		}
		if !slices.Contains(resources, any("secrets")) {
			continue
		}
		if slices.Contains(verbs, any("list")) || slices.Contains(verbs, any("watch")) {
			return errors.New("a rule that lists Secrets")
		}
		if kind == "ClusterRole" && len(list(rule, "resourceNames")) == 0 && !strings.Contains(title(one), "azurefile") {
			return errors.New("a rule for all Secrets of the cluster")
		}
	}
	return nil
}

// PR-16: a disk also goes when its PersistentVolume is deleted before the claim. The provisioner then
// keeps the volume by a finalizer, which it has to be able to write.
func provisionerRole(one object) error {
	if text(one, "kind") != "ClusterRole" || !strings.HasSuffix(text(one, "metadata", "name"), "external-provisioner-role") {
		return nil
	}
	for _, rule := range list(one, "rules") {
		if !slices.Contains(list(rule, "resources"), any("persistentvolumes")) {
			continue
		}
		for _, verb := range []string{"get", "list", "watch", "patch", "delete"} {
			if !slices.Contains(list(rule, "verbs"), any(verb)) {
				return fmt.Errorf("the provisioner may not %s volumes", verb)
			}
		}
		return nil
	}
	return errors.New("the provisioner has no right to volumes")
}

// ND-22: kubelet gives a pod's group its files only where the volume names a filesystem, unless the
// policy is File. PR-16: nothing switches the finalizer of the provisioner off.
func provisioner(one object) error {
	if text(one, "kind") != "Deployment" {
		return nil
	}
	for _, container := range list(podSpec(one), "containers") {
		if text(container, "name") != "csi-provisioner" {
			continue
		}
		args := list(container, "args")
		if strings.Contains(title(one), "azuredisk") && !slices.Contains(args, any("--default-fstype=ext4")) {
			return errors.New("csi-provisioner makes volumes without a filesystem type")
		}
		for _, arg := range args {
			if strings.Contains(fmt.Sprint(arg), "HonorPVReclaimPolicy=false") {
				return errors.New("csi-provisioner leaves the disk of a volume that is deleted first")
			}
		}
	}
	return nil
}

// What a binding names exists in the same namespace.
func bindings(all []object) []error {
	there := map[string]bool{}
	for _, one := range all {
		there[text(one, "kind")+"/"+text(one, "metadata", "namespace")+"/"+text(one, "metadata", "name")] = true
	}
	var broken []error
	for _, one := range all {
		kind := text(one, "kind")
		if kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		role := text(one, "roleRef", "kind") + "/" + text(one, "metadata", "namespace") + "/" + text(one, "roleRef", "name")
		if !there[role] {
			broken = append(broken, fmt.Errorf("%s: there is no %s", title(one), role))
		}
		for _, subject := range list(one, "subjects") {
			account := "ServiceAccount/" + text(subject, "namespace") + "/" + text(subject, "name")
			if !there[account] {
				broken = append(broken, fmt.Errorf("%s: there is no %s", title(one), account))
			}
		}
	}
	return broken
}

func podSpec(one object) object {
	found, _ := field(one, "spec", "template", "spec").(object)
	return found
}

// Deployments run as an ordinary user, whatever the image says.
func controllers(one object) error {
	if text(one, "kind") != "Deployment" {
		return nil
	}
	if field(podSpec(one), "securityContext", "runAsNonRoot") != true {
		return errors.New("runs as root")
	}
	for _, container := range list(podSpec(one), "containers") {
		context := field(container, "securityContext")
		if field(context, "privileged") == true || field(context, "allowPrivilegeEscalation") != false {
			return fmt.Errorf("container %s may gain rights", text(container, "name"))
		}
		if drop := list(context, "capabilities", "drop"); len(drop) != 1 || drop[0] != "ALL" {
			return fmt.Errorf("container %s keeps capabilities", text(container, "name"))
		}
	}
	for _, volume := range list(podSpec(one), "volumes") {
		if field(volume, "hostPath") == nil {
			continue
		}
		for _, container := range list(podSpec(one), "containers") {
			for _, mount := range list(container, "volumeMounts") {
				if text(mount, "name") == text(volume, "name") && field(mount, "readOnly") != true {
					return fmt.Errorf("container %s may write to the machine's %s", text(container, "name"), text(volume, "hostPath", "path"))
				}
			}
		}
	}
	return nil
}

// Of a node's containers only the driver is privileged.
func nodes(one object) error {
	if text(one, "kind") != "DaemonSet" {
		return nil
	}
	for _, container := range list(podSpec(one), "containers") {
		name := text(container, "name")
		isDriver := name == "azuredisk" || name == "azurefile"
		if privileged := field(container, "securityContext", "privileged") == true; privileged != isDriver {
			return fmt.Errorf("container %s: privileged is %v", name, privileged)
		}
		if !isDriver && field(container, "securityContext", "allowPrivilegeEscalation") != false {
			return fmt.Errorf("container %s may gain rights", name)
		}
	}
	if grace, _ := field(podSpec(one), "terminationGracePeriodSeconds").(float64); grace < 60 {
		return errors.New("the grace period is too short for a drain")
	}
	return nil
}

// What every container has: a root filesystem that cannot be written, limits, an image with a version.
func everyContainer(one object) error {
	for _, container := range list(podSpec(one), "containers") {
		name, image := text(container, "name"), text(container, "image")
		if field(container, "securityContext", "readOnlyRootFilesystem") != true {
			return fmt.Errorf("container %s can write to its image", name)
		}
		if name != "proxy" && field(container, "resources", "limits", "memory") == nil {
			return fmt.Errorf("container %s has no limit of memory", name)
		}
		if at := strings.LastIndex(image, ":"); at < 0 || image[at+1:] == "" || image[at+1:] == "latest" {
			return fmt.Errorf("container %s: image %q has no version", name, image)
		}
		if text(container, "imagePullPolicy") == "" {
			return fmt.Errorf("container %s has no pull policy", name)
		}
	}
	if spec := podSpec(one); spec != nil && text(spec, "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		return errors.New("no seccomp profile")
	}
	return nil
}

// Removing a release must not remove every snapshot of the cluster.
func snapshotKinds(one object) error {
	if text(one, "kind") != "CustomResourceDefinition" {
		return nil
	}
	if text(one, "metadata", "annotations", "helm.sh/resource-policy") != "keep" {
		return errors.New("it would go with the release, and all its objects with it")
	}
	return nil
}
