package main

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	currentConfig = "machineconfiguration.openshift.io/currentConfig"
	desiredConfig = "machineconfiguration.openshift.io/desiredConfig"

	// byConfig is the name of the cache's index.
	byConfig = "config"
)

// kind is a kind of object that refers to configs.
type kind struct {
	schema.GroupVersionKind
	// metadataOnly is set if all references are annotations.
	metadataOnly bool
}

var kinds = []kind{
	{schema.GroupVersionKind{Version: "v1", Kind: "Node"}, true},
	{schema.GroupVersionKind{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfigPool"}, false},
}

func (k kind) object() client.Object {
	if k.metadataOnly {
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(k.GroupVersionKind)
		return node
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return object
}

func (k kind) list() client.ObjectList {
	gvk := k.GroupVersion().WithKind(k.Kind + "List")
	if k.metadataOnly {
		nodes := &metav1.PartialObjectMetadataList{}
		nodes.SetGroupVersionKind(gvk)
		return nodes
	}
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(gvk)
	return objects
}

// configsOf returns the configs that an object names. A pool that is being deleted does not need its configs.
func configsOf(object client.Object) []string {
	pool, ok := object.(*unstructured.Unstructured)
	if !ok {
		annotations := object.GetAnnotations()
		return []string{annotations[currentConfig], annotations[desiredConfig]}
	}
	if pool.GetDeletionTimestamp() != nil {
		return nil
	}
	spec, _, _ := unstructured.NestedString(pool.Object, "spec", "configuration", "name")
	status, _, _ := unstructured.NestedString(pool.Object, "status", "configuration", "name")
	return []string{spec, status}
}

// references searches the objects that refer to configs.
type references struct {
	client.Reader
	indexed bool
}

var errFound = errors.New("found")

// findReferrer returns one object that names the config, or an empty string.
func (r references) findReferrer(ctx context.Context, config string) (referrer string, err error) {
	var options []client.ListOption
	if r.indexed {
		// One is enough to deny, and the cache copies each object that it lists.
		options = append(options, client.MatchingFields{byConfig: config}, client.Limit(1))
	}
	for _, kind := range kinds {
		list := kind.list()
		if err := r.List(ctx, list, options...); err != nil {
			return "", err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if !slices.Contains(configsOf(object), config) {
				return nil
			}
			referrer = kind.Kind + " " + object.GetName()
			return errFound
		})
		if err != nil && !errors.Is(err, errFound) {
			return "", err
		}
		if referrer != "" {
			return referrer, nil
		}
	}
	return "", nil
}
