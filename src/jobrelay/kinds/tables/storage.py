"""The tables of storage.k8s.io and resource.k8s.io."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.kinds.tables.columns import AGE, NAME, PLAIN, Obj, TableSpec, at, col, count
from jobrelay.kinds.tables.texts import NONE, UNSET

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _class_name(obj: Obj, now: dt.datetime) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return f"{obj['metadata']['name']} (default)" if default else obj["metadata"]["name"]


def _audiences(driver: Obj, now: dt.datetime) -> str:
    requests = driver["spec"].get("tokenRequests")
    return UNSET if requests is None else ",".join(request.get("audience", "") for request in requests)


def _modes(driver: Obj, now: dt.datetime) -> str:
    return ",".join(driver["spec"].get("volumeLifecycleModes") or ()) or NONE


def _claim_state(claim: Obj, now: dt.datetime) -> str:
    status, deleted = claim.get("status") or {}, bool(claim["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is None:
        states += [] if deleted else ["pending"]
    else:
        states.append("allocated")
        states += ["reserved"] if status.get("reservedFor") else []
    return ",".join(states)


TABLES: Final[dict[tuple[str, str], TableSpec]] = {
    ("storage.k8s.io", "storageclasses"): TableSpec(
        (
            col("Name", _class_name, "meta.v1.ObjectMeta.name", format="name"),
            col("Provisioner", "provisioner", "storage.v1.StorageClass.provisioner"),
            col("ReclaimPolicy", at("reclaimPolicy", "Delete"), "storage.v1.StorageClass.reclaimPolicy"),
            col("VolumeBindingMode", at("volumeBindingMode", "Immediate"), "storage.v1.StorageClass.volumeBindingMode"),
            col(
                "AllowVolumeExpansion",
                at("allowVolumeExpansion", False),
                "storage.v1.StorageClass.allowVolumeExpansion",
            ),
            AGE,
        )
    ),
    ("storage.k8s.io", "volumeattachments"): TableSpec(
        (
            NAME,
            col("Attacher", "spec.attacher", "storage.v1.VolumeAttachmentSpec.attacher", format="name"),
            col("PV", "spec.source.persistentVolumeName", "storage.v1.VolumeAttachmentSource.persistentVolumeName"),
            col("Node", "spec.nodeName", "storage.v1.VolumeAttachmentSpec.nodeName"),
            col("Attached", at("status.attached", False), "storage.v1.VolumeAttachmentStatus.attached", type="boolean"),
            AGE,
        )
    ),
    ("storage.k8s.io", "csidrivers"): TableSpec(
        (
            NAME,
            col(
                "AttachRequired",
                at("spec.attachRequired", True),
                "storage.v1.CSIDriverSpec.attachRequired",
                type="boolean",
            ),
            col(
                "PodInfoOnMount",
                at("spec.podInfoOnMount", False),
                "storage.v1.CSIDriverSpec.podInfoOnMount",
                type="boolean",
            ),
            col(
                "StorageCapacity",
                at("spec.storageCapacity", False),
                "storage.v1.CSIDriverSpec.storageCapacity",
                type="boolean",
            ),
            col("TokenRequests", _audiences, "storage.v1.CSIDriverSpec.tokenRequests"),
            col(
                "RequiresRepublish",
                at("spec.requiresRepublish", False),
                "storage.v1.CSIDriverSpec.requiresRepublish",
                type="boolean",
            ),
            col("Modes", _modes, "storage.v1.CSIDriverSpec.volumeLifecycleModes"),
            AGE,
        )
    ),
    ("storage.k8s.io", "csinodes"): TableSpec(
        (
            NAME,
            col(
                "Drivers",
                count("spec.drivers"),
                text="Drivers indicates the number of CSI drivers registered on the node",
                type="integer",
            ),
            AGE,
        )
    ),
    ("storage.k8s.io", "csistoragecapacities"): PLAIN,
    ("storage.k8s.io", "volumeattributesclasses"): TableSpec(
        (NAME, col("DriverName", "driverName", "storage.v1.VolumeAttributesClass.driverName"), AGE)
    ),
    ("resource.k8s.io", "deviceclasses"): TableSpec((NAME, AGE)),
    ("resource.k8s.io", "resourceclaims"): TableSpec(
        (
            NAME,
            col("State", _claim_state, text="A summary of the current state (allocated, pending, reserved, etc.)."),
            AGE,
        )
    ),
    ("resource.k8s.io", "resourceclaimtemplates"): TableSpec((NAME, AGE)),
    ("resource.k8s.io", "resourceslices"): TableSpec(
        (
            NAME,
            col("Node", "spec.nodeName", "resource.v1.ResourceSliceSpec.nodeName"),
            col("Driver", "spec.driver", "resource.v1.ResourceSliceSpec.driver"),
            col("Pool", "spec.pool.name", "resource.v1.ResourcePool.name"),
            AGE,
        )
    ),
}
