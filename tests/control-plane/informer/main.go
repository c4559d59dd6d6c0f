// Holds the PackageManifests of a namespace in the cache of an informer, as controllers do, and prints a line of JSON for each
// notification. For each line on the standard input it prints the whole cache and its resource version.
//
// usage: informer KUBECONFIG NAMESPACE
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var packages = schema.GroupVersionResource{
	Group: "packages.operators.coreos.com", Version: "v1", Resource: "packagemanifests",
}

var output sync.Mutex

func show(line any) {
	output.Lock()
	defer output.Unlock()
	if json.NewEncoder(os.Stdout).Encode(line) != nil {
		os.Exit(1)
	}
}

func notify(event string, object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	manifest := object.(*unstructured.Unstructured)
	show(map[string]string{
		"event": event, "name": manifest.GetName(), "version": manifest.GetResourceVersion(), "channel": channel(manifest),
	})
}

func channel(manifest *unstructured.Unstructured) string {
	channel, _, _ := unstructured.NestedString(manifest.Object, "status", "defaultChannel")
	return channel
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		panic(err)
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, packages, os.Args[2], 0, cache.Indexers{}, nil).Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { notify("add", object) },
		UpdateFunc: func(_, object any) { notify("update", object) },
		DeleteFunc: func(object any) { notify("delete", object) },
	})
	if err != nil {
		panic(err)
	}
	go informer.Run(make(chan struct{}))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		state := map[string]string{}
		for _, object := range informer.GetStore().List() {
			manifest := object.(*unstructured.Unstructured)
			state[manifest.GetName()] = channel(manifest)
		}
		show(map[string]any{"state": state, "version": informer.LastSyncResourceVersion()})
	}
}
