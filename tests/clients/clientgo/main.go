// Program clientgo does what controllers written with client-go do, against the cluster of $KUBECONFIG, in namespace $NAMESPACE.
//
// It prints one line per check and ends with code 1 when any of them failed.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is what every check gets: clients of all kinds, and a namespace of its own.
type cluster struct {
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	namespace string
}

type check struct {
	name string
	run  func(context.Context, cluster) error
}

func main() {
	c, err := connect()
	if err != nil {
		fmt.Println("FAIL connect:", err)
		os.Exit(1)
	}
	failed := 0
	for _, group := range [][]check{typedChecks, patchChecks, applyChecks, informerChecks, electionChecks, eventChecks, discoveryChecks} {
		for _, check := range group {
			failed += report(check, c)
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func report(check check, c cluster) int {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := check.run(ctx, c); err != nil {
		fmt.Printf("FAIL %s: %v\n", check.name, err)
		return 1
	}
	fmt.Println("ok  ", check.name)
	return 0
}

func connect() (cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return cluster{}, err
	}
	config.QPS = -1
	return cluster{
		config:    config,
		typed:     kubernetes.NewForConfigOrDie(config),
		dynamic:   dynamic.NewForConfigOrDie(config),
		metadata:  metadata.NewForConfigOrDie(config),
		namespace: os.Getenv("NAMESPACE"),
	}, nil
}

// same is nil when both values are equal.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}
