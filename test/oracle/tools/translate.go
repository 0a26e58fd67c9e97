package main

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	translation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	kjson "sigs.k8s.io/json"
)

var translator = translation.New()

// decode reads an object as the API server does; null is no object.
func decode[T any](raw []byte) (*T, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	object := new(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return object, nil
}

func translate(asked question) (result any, err error) {
	// A nil class crashes the translator; a crash counts as an error.
	defer func() {
		if crash := recover(); crash != nil {
			result, err = nil, fmt.Errorf("crash: %v", crash)
		}
	}()
	switch asked.Direction {
	case "pv_to_csi":
		pv, err := decode[v1.PersistentVolume](asked.Input)
		if err != nil {
			return nil, err
		}
		return translator.TranslateInTreePVToCSI(klog.Background(), pv)
	case "pv_from_csi":
		pv, err := decode[v1.PersistentVolume](asked.Input)
		if err != nil {
			return nil, err
		}
		return translator.TranslateCSIPVToInTree(pv)
	case "inline_to_csi":
		return inline(asked.Input)
	case "storageclass_to_csi":
		class, err := decode[storage.StorageClass](asked.Input)
		if err != nil {
			return nil, err
		}
		return translator.TranslateInTreeStorageClassToCSI(klog.Background(), class.Provisioner, class)
	case "topology":
		return operation(asked.Input)
	}
	return nil, errors.New("unknown direction " + asked.Direction)
}

func inline(raw []byte) (any, error) {
	input, err := decode[struct {
		Volume       *v1.Volume `json:"volume"`
		PodNamespace string     `json:"podNamespace"`
	}](raw)
	if err != nil {
		return nil, err
	}
	return translator.TranslateInTreeInlineVolumeToCSI(klog.Background(), input.Volume, input.PodNamespace)
}
