package main

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

var discoveryChecks = []check{
	{"aggregated discovery tells all groups and kinds", func(ctx context.Context, c cluster) error {
		groups, lists, err := c.typed.Discovery().ServerGroupsAndResources()
		if err != nil {
			return err
		}
		batch := slices.IndexFunc(lists, func(list *metav1.APIResourceList) bool { return list.GroupVersion == "batch/v1" })
		if batch < 0 {
			return errors.New("batch/v1 is missing")
		}
		return errors.Join(same("groups", len(groups) > 15, true), same("first of batch", lists[batch].APIResources[0].Name, "cronjobs"))
	}},
	{"legacy discovery tells the same groups", func(ctx context.Context, c cluster) error {
		client := discovery.NewDiscoveryClientForConfigOrDie(c.config)
		client.UseLegacyDiscovery = true
		old, _, err := client.ServerGroupsAndResources()
		if err != nil {
			return err
		}
		aggregated, err := c.typed.Discovery().ServerGroups()
		if err != nil {
			return err
		}
		return same("number of groups", len(old), len(aggregated.Groups))
	}},
	{"the REST mapper finds resources by kind and short name", func(ctx context.Context, c cluster) error {
		client := memory.NewMemCacheClient(c.typed.Discovery())
		mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil)
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "batch", Kind: "Job"})
		if err != nil {
			return err
		}
		short, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "deploy"})
		if err != nil {
			return err
		}
		return errors.Join(same("resource", mapping.Resource.Resource, "jobs"), same("short name", short.Resource, "deployments"))
	}},
	{"version and OpenAPI", func(ctx context.Context, c cluster) error {
		version, err := c.typed.Discovery().ServerVersion()
		if err != nil {
			return err
		}
		document, err := c.typed.Discovery().OpenAPISchema()
		if err != nil {
			return err
		}
		paths, err := c.typed.Discovery().OpenAPIV3().Paths()
		if err != nil {
			return err
		}
		_, served := paths["apis/batch/v1"]
		return errors.Join(same("major", version.Major, "1"), same("v2", document.Swagger, "2.0"), same("v3 of batch", served, true))
	}},
}
