package main

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var electionChecks = []check{
	{"one of two leads, and the other after it", func(ctx context.Context, c cluster) error {
		leading := make(chan string, 2)
		first, resign := context.WithCancel(ctx)
		second, stop := context.WithCancel(ctx)
		defer stop()
		defer resign()
		go candidate(first, c, "one", leading)
		if err := await(ctx, leading, "one"); err != nil {
			return err
		}
		go candidate(second, c, "two", leading)
		resign()
		if err := await(ctx, leading, "two"); err != nil {
			return err
		}
		lease, err := c.typed.CoordinationV1().Leases(c.namespace).Get(ctx, "leader", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return errors.Join(same("holder", *lease.Spec.HolderIdentity, "two"), same("renewed", lease.Spec.RenewTime != nil, true))
	}},
}

func candidate(ctx context.Context, c cluster, name string, leading chan<- string) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: "leader"},
		Client:     c.typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		ReleaseOnCancel: true,
		LeaseDuration:   4 * time.Second,
		RenewDeadline:   2 * time.Second,
		RetryPeriod:     200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leading <- name },
			OnStoppedLeading: func() {},
		},
	})
}
