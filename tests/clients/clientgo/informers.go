package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
)

// Informers of this client-go begin with a streamed list (sendInitialEvents).
var informerChecks = []check{
	{"shared informers sync and follow changes", func(ctx context.Context, c cluster) error {
		factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(c.namespace))
		seen := make(chan string, 100)
		maps := factory.Core().V1().ConfigMaps()
		if _, err := maps.Informer().AddEventHandler(recorder(seen)); err != nil {
			return err
		}
		factory.Batch().V1().Jobs().Informer()
		factory.Core().V1().Pods().Informer()
		factory.Start(ctx.Done())
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return fmt.Errorf("%v did not sync", kind)
			}
		}
		return follow(ctx, c, seen, "informed")
	}},
	{"dynamic informers sync and follow changes", func(ctx context.Context, c cluster) error {
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
		informer := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer()
		return run(ctx, c, informer, "dynamic")
	}},
	{"metadata informers sync and follow changes", func(ctx context.Context, c cluster) error {
		factory := metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, c.namespace, nil)
		informer := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer()
		return run(ctx, c, informer, "metadata")
	}},
	{"informers of every kind that managers watch sync", func(ctx context.Context, c cluster) error {
		factory := informers.NewSharedInformerFactory(c.typed, 0)
		for _, resource := range watched {
			if _, err := factory.ForResource(resource); err != nil {
				return err
			}
		}
		factory.Start(ctx.Done())
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return fmt.Errorf("%v did not sync", kind)
			}
		}
		return nil
	}},
	{"a watch goes on where the last one ended", retryWatch},
	{"a streamed list ends with its bookmark", func(ctx context.Context, c cluster) error {
		watching, err := c.typed.CoreV1().ConfigMaps(c.namespace).Watch(ctx, metav1.ListOptions{
			SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
		})
		if err != nil {
			return err
		}
		defer watching.Stop()
		for event := range watching.ResultChan() {
			if event.Type == watch.Bookmark {
				return same("end", event.Object.(*corev1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey], "true")
			}
		}
		return errors.New("the watch ended without a bookmark")
	}},
}

var watched = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "limitranges"},
	{Version: "v1", Resource: "podtemplates"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "events"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "replicasets"}, {Group: "batch", Version: "v1", Resource: "cronjobs"},
	{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}, {Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}, {Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}

func run(ctx context.Context, c cluster, informer cache.SharedIndexInformer, name string) error {
	seen := make(chan string, 100)
	if _, err := informer.AddEventHandler(recorder(seen)); err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("did not sync")
	}
	return follow(ctx, c, seen, name)
}

// recorder writes down what happens as "added name", "updated name" and "deleted name".
func recorder(seen chan<- string) cache.ResourceEventHandler {
	tell := func(what string) func(any) {
		return func(object any) {
			if object, ok := object.(metav1.Object); ok {
				seen <- what + " " + object.GetName()
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    tell("added"),
		UpdateFunc: func(_, object any) { tell("updated")(object) },
		DeleteFunc: tell("deleted"),
	}
}

// follow makes, changes and deletes a ConfigMap and expects to see all three.
func follow(ctx context.Context, c cluster, seen <-chan string, name string) error {
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	if _, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"colour":"blue"}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for _, wanted := range []string{"added ", "updated ", "deleted "} {
		if err := await(ctx, seen, wanted+name); err != nil {
			return err
		}
	}
	return nil
}

func await(ctx context.Context, seen <-chan string, wanted string) error {
	for {
		select {
		case what := <-seen:
			if what == wanted {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("did not see %q", wanted)
		}
	}
}

func retryWatch(ctx context.Context, c cluster) error {
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	short := ptr.To[int64](1)
	watching, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.TimeoutSeconds = short
			return maps.Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	defer watching.Stop()
	for _, name := range []string{"first", "second"} {
		if _, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			return err
		}
		event := <-watching.ResultChan()
		if err := same("event", fmt.Sprint(event.Type, " ", event.Object.(*corev1.ConfigMap).Name), "ADDED "+name); err != nil {
			return err
		}
	}
	return nil
}
