package main

import (
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion is unique for a namespace, so that several runs share a cluster.
var groupVersion = schema.GroupVersion{Group: os.Getenv("NAMESPACE") + ".example.com", Version: "v1"}

type taskSpec struct {
	Image string `json:"image"`
	Size  int64  `json:"size,omitempty"`
}

type taskStatus struct {
	Job                string `json:"job,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

type task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              taskSpec   `json:"spec"`
	Status            taskStatus `json:"status,omitempty"`
}

type taskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []task `json:"items"`
}

func (t *task) DeepCopyObject() runtime.Object {
	copied := *t
	t.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (l *taskList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]task, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*task)
	}
	return &copied
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(groupVersion.WithKind("Task"), &task{})
	scheme.AddKnownTypeWithName(groupVersion.WithKind("TaskList"), &taskList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

func definition() []*apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	object := func(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
	}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"image": text, "size": number}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"job": text, "observedGeneration": number}),
	})
	return []*apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "tasks." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "tasks", Kind: "Task"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}}
}
