// Program controllerruntime runs a manager with a reconciler of a custom resource on the cluster of $KUBECONFIG.
//
// It installs a definition, lets the reconciler make a Job for each object, and checks what came of it. It prints one line per
// check and ends with code 1 when one failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var namespace = os.Getenv("NAMESPACE")

func main() {
	ctrl.SetLogger(klog.Background())
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	definition := definition()
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: definition}); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = envtest.UninstallCRDs(config, envtest.CRDInstallOptions{CRDs: definition}) }()
	fmt.Println("ok   the definition is established")

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "tasks.example.com",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	if err := (&reconciler{manager.GetClient(), manager.GetEventRecorder("tasks")}).setUp(manager); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	defer func() { stop(); <-ended }()
	return check(ctx, manager)
}

func check(ctx context.Context, manager ctrl.Manager) error {
	select {
	case <-manager.Elected():
	case <-ctx.Done():
		return errors.New("the manager was not elected")
	}
	fmt.Println("ok   the manager leads")
	c := manager.GetClient()
	made := &task{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "t"}, Spec: taskSpec{Image: "busybox"}}
	if err := c.Create(ctx, made); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	key := client.ObjectKeyFromObject(made)
	if err := eventually(ctx, "the reconciler made a Job and wrote a status", func() (bool, error) {
		err := c.Get(ctx, key, made)
		return made.Status.Job == "t" && made.Status.ObservedGeneration == 1, client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	if err := c.Patch(ctx, changed(made), client.MergeFromWithOptions(made, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := eventually(ctx, "a change of the object reaches its Job", func() (bool, error) {
		found := &batchv1.Job{}
		err := c.Get(ctx, key, found)
		return found.Labels["size"] == "3", err
	}); err != nil {
		return err
	}
	if err := eventually(ctx, "the recorder wrote an event", func() (bool, error) {
		events := &corev1.EventList{}
		err := manager.GetAPIReader().List(ctx, events, client.InNamespace(namespace), client.MatchingFields{"reason": "Made"})
		return len(events.Items) == 1, err
	}); err != nil {
		return err
	}
	if err := c.Delete(ctx, made); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return eventually(ctx, "the finalizer ran before the object went", func() (bool, error) {
		gone := apierrors.IsNotFound(manager.GetAPIReader().Get(ctx, key, &task{}))
		jobGone := apierrors.IsNotFound(manager.GetAPIReader().Get(ctx, key, &batchv1.Job{}))
		return gone && jobGone, nil
	})
}

func changed(old *task) *task {
	made := old.DeepCopyObject().(*task)
	made.Spec.Size = 3
	return made
}

func eventually(ctx context.Context, what string, holds wait.ConditionFunc) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return holds() })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Println("ok  ", what)
	return nil
}
