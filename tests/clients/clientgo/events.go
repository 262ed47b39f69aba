package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

var eventChecks = []check{
	{"the recorder of core events counts", func(ctx context.Context, c cluster) error {
		about, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(ctx, configMap("about-core"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.typed.CoreV1().Events(c.namespace)})
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clientgo"})
		for range 3 {
			recorder.Event(about, corev1.EventTypeNormal, "Seen", "it was seen")
		}
		event, err := awaitEvent(ctx, c, "about-core", func(event eventsv1.Event) bool { return event.DeprecatedCount == 3 })
		if err != nil {
			return err
		}
		return errors.Join(same("note", event.Note, "it was seen"), same("kind", event.Regarding.Kind, "ConfigMap"))
	}},
	{"the recorder of events.k8s.io makes series", func(ctx context.Context, c cluster) error {
		about, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(ctx, configMap("about-series"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.typed.EventsV1()})
		defer broadcaster.Shutdown()
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			return err
		}
		recorder := broadcaster.NewRecorder(scheme.Scheme, "example.com/clientgo")
		for range 3 {
			recorder.Eventf(about, nil, corev1.EventTypeWarning, "Seen", "Looking", "it was seen")
		}
		_, err = awaitEvent(ctx, c, "about-series", func(event eventsv1.Event) bool { return event.Series != nil })
		if err != nil {
			return err
		}
		selector := metav1.ListOptions{FieldSelector: "involvedObject.name=about-series,type=Warning"}
		found, err := c.typed.CoreV1().Events(c.namespace).List(ctx, selector)
		if err != nil {
			return err
		}
		return same("core events", len(found.Items), 1)
	}},
}

// awaitEvent follows the events about an object until one fits.
func awaitEvent(ctx context.Context, c cluster, about string, fits func(eventsv1.Event) bool) (eventsv1.Event, error) {
	watching, err := c.typed.EventsV1().Events(c.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "regarding.name=" + about})
	if err != nil {
		return eventsv1.Event{}, err
	}
	defer watching.Stop()
	last := eventsv1.Event{}
	for event := range watching.ResultChan() {
		last = *event.Object.(*eventsv1.Event)
		if fits(last) {
			return last, nil
		}
	}
	return last, fmt.Errorf("no event fits; the last is %+v", last)
}
