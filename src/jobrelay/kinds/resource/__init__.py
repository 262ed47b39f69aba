"""The kinds of resource.k8s.io: ResourceSlices, DeviceClasses, ResourceClaims."""
