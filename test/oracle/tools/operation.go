package main

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

type smaller struct {
	Op           string               `json:"op"`
	PV           *v1.PersistentVolume `json:"pv"`
	Volume       *v1.Volume           `json:"volume"`
	PluginName   string               `json:"pluginName"`
	Driver       string               `json:"driver"`
	VolumeHandle string               `json:"volumeHandle"`
	NodeID       string               `json:"nodeID"`
}

func operation(raw []byte) (any, error) {
	in, err := decode[smaller](raw)
	if err != nil {
		return nil, err
	}
	switch in.Op {
	case "is_pv_migratable":
		return translator.IsPVMigratable(in.PV), nil
	case "is_inline_migratable":
		return translator.IsInlineMigratable(in.Volume), nil
	case "is_migratable_plugin":
		return translator.IsMigratableIntreePluginByName(in.PluginName), nil
	case "is_migrated_driver":
		return translator.IsMigratedCSIDriverByName(in.Driver), nil
	case "csi_name_from_intree":
		return translator.GetCSINameFromInTreeName(in.PluginName)
	case "intree_name_from_csi":
		return translator.GetInTreeNameFromCSIName(in.Driver)
	case "repair_volume_handle":
		return translator.RepairVolumeHandle(in.Driver, in.VolumeHandle, in.NodeID)
	case "plugin_name_from_spec":
		return translator.GetInTreePluginNameFromSpec(in.PV, in.Volume)
	case "pv_topology_to_csi":
		return shown(in.PV, v1.PersistentVolumeSource{
			Cinder: &v1.CinderPersistentVolumeSource{VolumeID: "v"},
		}, func(pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
			return translator.TranslateInTreePVToCSI(klog.Background(), pv)
		})
	case "pv_topology_from_csi":
		return shown(in.PV, v1.PersistentVolumeSource{
			CSI: &v1.CSIPersistentVolumeSource{Driver: "cinder.csi.openstack.org", VolumeHandle: "v"},
		}, translator.TranslateCSIPVToInTree)
	}
	return nil, errors.New("unknown operation " + in.Op)
}

// shown makes the shared topology rules visible. They are not exported and Azure does not use them;
// another cloud's plugin does, so the volume borrows its source and gives it back.
func shown(
	pv *v1.PersistentVolume,
	source v1.PersistentVolumeSource,
	step func(*v1.PersistentVolume) (*v1.PersistentVolume, error),
) (any, error) {
	borrowed := pv.DeepCopy()
	borrowed.Spec.PersistentVolumeSource = source
	out, err := step(borrowed)
	if err != nil {
		return nil, err
	}
	out.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{}
	return out, nil
}
