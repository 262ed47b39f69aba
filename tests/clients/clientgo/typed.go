package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// Typed clients send protobuf.
var typedChecks = []check{
	{"typed create keeps zeros and gets defaults", func(ctx context.Context, c cluster) error {
		made, err := c.typed.BatchV1().Jobs(c.namespace).Create(ctx, job("typed"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return errors.Join(
			same("parallelism", *made.Spec.Parallelism, 0),
			same("backoffLimit", *made.Spec.BackoffLimit, 6),
			same("completionMode", *made.Spec.CompletionMode, batchv1.NonIndexedCompletion),
			same("managers", made.ManagedFields[0].Manager, "clientgo"),
		)
	}},
	{"typed errors have their reasons", func(ctx context.Context, c cluster) error {
		bad := job("bad")
		bad.Spec.Parallelism = ptr.To[int32](-1)
		_, invalid := c.typed.BatchV1().Jobs(c.namespace).Create(ctx, bad, metav1.CreateOptions{})
		_, missing := c.typed.BatchV1().Jobs(c.namespace).Get(ctx, "missing", metav1.GetOptions{})
		_, again := c.typed.BatchV1().Jobs(c.namespace).Create(ctx, job("typed"), metav1.CreateOptions{})
		return errors.Join(
			same("invalid", apierrors.IsInvalid(invalid), true),
			same("not found", apierrors.IsNotFound(missing), true),
			same("already exists", apierrors.IsAlreadyExists(again), true),
			same("cause", apierrors.HasStatusCause(invalid, metav1.CauseTypeFieldValueInvalid), true),
		)
	}},
	{"typed update of a status changes the status alone", func(ctx context.Context, c cluster) error {
		pods := c.typed.CoreV1().Pods(c.namespace)
		made, err := pods.Create(ctx, pod("status"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Status.Phase = corev1.PodRunning
		made.Spec.Containers[0].Image = "ignored"
		changed, err := pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		return errors.Join(same("phase", changed.Status.Phase, corev1.PodRunning), same("image", changed.Spec.Containers[0].Image, "busybox"))
	}},
	{"retry on conflict lets all writers through", retryOnConflict},
	{"typed pages", func(ctx context.Context, c cluster) error {
		secrets := c.typed.CoreV1().Secrets(c.namespace)
		for _, name := range []string{"a", "b", "c"} {
			made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"key": {0, 255}}}
			if _, err := secrets.Create(ctx, made, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		first, err := secrets.List(ctx, metav1.ListOptions{Limit: 2})
		if err != nil {
			return err
		}
		second, err := secrets.List(ctx, metav1.ListOptions{Limit: 2, Continue: first.Continue})
		if err != nil {
			return err
		}
		return errors.Join(
			same("first page", len(first.Items), 2),
			same("remaining", ptr.Deref(first.RemainingItemCount, 0), 1),
			same("last name", second.Items[0].Name, "c"),
			same("bytes", string(second.Items[0].Data["key"]), "\x00\xff"),
		)
	}},
	{"finalizers hold an object until they are taken off", func(ctx context.Context, c cluster) error {
		maps := c.typed.CoreV1().ConfigMaps(c.namespace)
		held := configMap("held")
		held.Finalizers = []string{"example.com/hold"}
		if _, err := maps.Create(ctx, held, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := maps.Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
			return err
		}
		found, err := maps.Get(ctx, "held", metav1.GetOptions{})
		if err != nil || found.DeletionTimestamp == nil {
			return fmt.Errorf("is not being deleted: %w", err)
		}
		found.Finalizers = nil
		if _, err := maps.Update(ctx, found, metav1.UpdateOptions{}); err != nil {
			return err
		}
		_, err = maps.Get(ctx, "held", metav1.GetOptions{})
		return same("gone", apierrors.IsNotFound(err), true)
	}},
	{"typed deletes with options", func(ctx context.Context, c cluster) error {
		jobs := c.typed.BatchV1().Jobs(c.namespace)
		other := metav1.Preconditions{UID: ptr.To[types.UID]("other")}
		conflict := jobs.Delete(ctx, "typed", metav1.DeleteOptions{Preconditions: &other})
		background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
		if err := jobs.DeleteCollection(ctx, background, metav1.ListOptions{}); err != nil {
			return err
		}
		left, err := jobs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return errors.Join(same("conflict", apierrors.IsConflict(conflict), true), same("left", len(left.Items), 0))
	}},
	{"binding and eviction", func(ctx context.Context, c cluster) error {
		pods := c.typed.CoreV1().Pods(c.namespace)
		if _, err := pods.Create(ctx, pod("bound"), metav1.CreateOptions{}); err != nil {
			return err
		}
		target := corev1.ObjectReference{Kind: "Node", Name: "somewhere"}
		if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Target: target}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "bound"}}); err != nil {
			return err
		}
		found, err := pods.Get(ctx, "bound", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return errors.Join(same("node", found.Spec.NodeName, "somewhere"), same("grace", *found.DeletionGracePeriodSeconds, 30))
	}},
	{"a token works as its account", func(ctx context.Context, c cluster) error {
		wanted := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](600)}}
		made, err := c.typed.CoreV1().ServiceAccounts(c.namespace).CreateToken(ctx, "default", wanted, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: made.Status.Token}}
		reviewed, err := c.typed.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return same("user", reviewed.Status.User.Username, "system:serviceaccount:"+c.namespace+":default")
	}},
	{"access reviews", func(ctx context.Context, c cluster) error {
		asked := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: c.namespace}
		own, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: asked}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		other, err := c.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx,
			&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: asked, User: "nobody"}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return errors.Join(same("own", own.Status.Allowed, true), same("other", other.Status.Allowed, false))
	}},
	{"the scale client scales a Deployment", scaleDeployment},
}

func retryOnConflict(ctx context.Context, c cluster) error {
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	if _, err := maps.Create(ctx, configMap("counter"), metav1.CreateOptions{}); err != nil {
		return err
	}
	add := func() error {
		found, err := maps.Get(ctx, "counter", metav1.GetOptions{})
		if err != nil {
			return err
		}
		found.Data["colour"] += "."
		_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
		return err
	}
	var wait sync.WaitGroup
	outcomes := make([]error, 4)
	for i := range outcomes {
		wait.Go(func() { outcomes[i] = retry.RetryOnConflict(retry.DefaultBackoff, add) })
	}
	wait.Wait()
	found, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return errors.Join(append(outcomes, same("value", found.Data["colour"], "red...."))...)
}

func scaleDeployment(ctx context.Context, c cluster) error {
	labels := map[string]string{"app": "web"}
	spec := appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")},
	}
	made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}
	if _, err := c.typed.AppsV1().Deployments(c.namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return err
	}
	client := discovery.NewDiscoveryClientForConfigOrDie(c.config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	scales, err := scale.NewForConfig(c.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client))
	if err != nil {
		return err
	}
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	found, err := scales.Scales(c.namespace).Get(ctx, resource, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	found.Spec.Replicas = 3
	changed, err := scales.Scales(c.namespace).Update(ctx, resource, found, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(same("replicas", changed.Spec.Replicas, 3), same("selector", changed.Status.Selector, "app=web"))
}
