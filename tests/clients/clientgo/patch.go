package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

var patchChecks = []check{
	{"patches of all types", func(ctx context.Context, c cluster) error {
		maps := c.typed.CoreV1().ConfigMaps(c.namespace)
		if _, err := maps.Create(ctx, configMap("patched"), metav1.CreateOptions{}); err != nil {
			return err
		}
		patches := map[types.PatchType]string{
			types.JSONPatchType:           `[{"op":"replace","path":"/data/colour","value":"new"}]`,
			types.MergePatchType:          `{"data":{"colour":"new"}}`,
			types.StrategicMergePatchType: `{"data":{"colour":"new"}}`,
		}
		for kind, body := range patches {
			changed, err := maps.Patch(ctx, "patched", kind, []byte(body), metav1.PatchOptions{})
			if err := errors.Join(err, same("colour", changed.Data["colour"], "new")); err != nil {
				return err
			}
		}
		return nil
	}},
	{"a patch with an old resourceVersion conflicts", func(ctx context.Context, c cluster) error {
		body := []byte(`{"metadata":{"resourceVersion":"1"},"data":{"colour":"old"}}`)
		_, err := c.typed.CoreV1().ConfigMaps(c.namespace).Patch(ctx, "patched", types.MergePatchType, body, metav1.PatchOptions{})
		return same("conflict", apierrors.IsConflict(err), true)
	}},
}

var applyChecks = []check{
	{"server-side apply creates, changes and removes", func(ctx context.Context, c cluster) error {
		maps := c.typed.CoreV1().ConfigMaps(c.namespace)
		options := metav1.ApplyOptions{FieldManager: "one"}
		if _, err := maps.Apply(ctx, applycorev1.ConfigMap("applied", c.namespace).WithData(map[string]string{"a": "1", "b": "1"}), options); err != nil {
			return err
		}
		changed, err := maps.Apply(ctx, applycorev1.ConfigMap("applied", c.namespace).WithData(map[string]string{"b": "2"}), options)
		if err != nil {
			return err
		}
		return errors.Join(same("keys", len(changed.Data), 1), same("b", changed.Data["b"], "2"))
	}},
	{"server-side apply conflicts, and by force does not", func(ctx context.Context, c cluster) error {
		maps := c.typed.CoreV1().ConfigMaps(c.namespace)
		wanted := applycorev1.ConfigMap("applied", c.namespace).WithData(map[string]string{"b": "3"})
		_, conflict := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "two"})
		_, forced := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "two", Force: true})
		return errors.Join(
			same("conflict", apierrors.HasStatusCause(conflict, metav1.CauseTypeFieldManagerConflict), true),
			forced,
		)
	}},
	{"what was applied can be extracted again", func(ctx context.Context, c cluster) error {
		found, err := c.typed.CoreV1().ConfigMaps(c.namespace).Get(ctx, "applied", metav1.GetOptions{})
		if err != nil {
			return err
		}
		extracted, err := applycorev1.ExtractConfigMap(found, "two")
		if err != nil {
			return err
		}
		return same("b", extracted.Data["b"], "3")
	}},
	{"server-side apply of a status", func(ctx context.Context, c cluster) error {
		jobs := c.typed.BatchV1().Jobs(c.namespace)
		wanted := job("applied")
		manager := "example.com/clientgo"
		wanted.Spec.ManagedBy = &manager
		if _, err := jobs.Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
			return err
		}
		status := applybatchv1.JobStatus().WithStartTime(metav1.Now()).WithActive(1).WithReady(1)
		changed, err := jobs.ApplyStatus(ctx, applybatchv1.Job("applied", c.namespace).WithStatus(status), metav1.ApplyOptions{FieldManager: "one"})
		if err != nil {
			return err
		}
		return same("active", changed.Status.Active, 1)
	}},
}
