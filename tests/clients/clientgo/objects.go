package main

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"colour": "red"}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec("")}
}

// job is suspended, so that no controller makes pods of it.
func job(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Suspend:     ptr.To(true),
			Parallelism: ptr.To[int32](0),
			Template:    corev1.PodTemplateSpec{Spec: podSpec(corev1.RestartPolicyNever)},
		},
	}
}

func podSpec(policy corev1.RestartPolicy) corev1.PodSpec {
	return corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}
}
