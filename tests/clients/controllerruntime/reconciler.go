package main

import (
	"context"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "example.com/tasks"

// reconciler keeps one Job for each task, and deletes it before the task goes.
type reconciler struct {
	client.Client
	events events.EventRecorder
}

func (r *reconciler) setUp(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&task{}).Named("task").Owns(&batchv1.Job{}).Complete(r)
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := &task{}
	if err := r.Get(ctx, request.NamespacedName, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !found.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finish(ctx, found)
	}
	if controllerutil.AddFinalizer(found, finalizer) {
		return ctrl.Result{}, r.Update(ctx, found)
	}
	return ctrl.Result{}, r.keepJob(ctx, found)
}

func (r *reconciler) keepJob(ctx context.Context, owner *task) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, job, func() error {
		job.Labels = map[string]string{"size": strconv.FormatInt(owner.Spec.Size, 10)}
		if job.ResourceVersion == "" {
			job.Spec.Suspend = ptr.To(true)
			job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: owner.Spec.Image}}
		}
		return controllerutil.SetControllerReference(owner, job, r.Scheme())
	})
	if err != nil {
		return err
	}
	if result == controllerutil.OperationResultCreated {
		r.events.Eventf(owner, job, corev1.EventTypeNormal, "Made", "Create", "made Job %s", job.Name)
	}
	if owner.Status.ObservedGeneration == owner.Generation {
		return nil
	}
	owner.Status = taskStatus{Job: job.Name, ObservedGeneration: owner.Generation}
	return r.Status().Update(ctx, owner)
}

func (r *reconciler) finish(ctx context.Context, owner *task) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if err := client.IgnoreNotFound(r.Delete(ctx, job, background)); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(owner, finalizer)
	return r.Update(ctx, owner)
}
