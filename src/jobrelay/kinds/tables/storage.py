"""The tables of storage.k8s.io and resource.k8s.io."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.kinds.tables.columns import AGE, PLAIN, Obj, TableSpec, col, count, field, table
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
            field("Provisioner", "provisioner", "storage.v1.StorageClass"),
            field("ReclaimPolicy", "reclaimPolicy", "storage.v1.StorageClass", "Delete"),
            field("VolumeBindingMode", "volumeBindingMode", "storage.v1.StorageClass", "Immediate"),
            field("AllowVolumeExpansion", "allowVolumeExpansion", "storage.v1.StorageClass", False),
            AGE,
        )
    ),
    ("storage.k8s.io", "volumeattachments"): table(
        field("Attacher", "spec.attacher", "storage.v1.VolumeAttachmentSpec", format="name"),
        field("PV", "spec.source.persistentVolumeName", "storage.v1.VolumeAttachmentSource"),
        field("Node", "spec.nodeName", "storage.v1.VolumeAttachmentSpec"),
        field("Attached", "status.attached", "storage.v1.VolumeAttachmentStatus", False, type="boolean"),
        AGE,
    ),
    ("storage.k8s.io", "csidrivers"): table(
        field("AttachRequired", "spec.attachRequired", "storage.v1.CSIDriverSpec", True, type="boolean"),
        field("PodInfoOnMount", "spec.podInfoOnMount", "storage.v1.CSIDriverSpec", False, type="boolean"),
        field("StorageCapacity", "spec.storageCapacity", "storage.v1.CSIDriverSpec", False, type="boolean"),
        col("TokenRequests", _audiences, "storage.v1.CSIDriverSpec.tokenRequests"),
        field("RequiresRepublish", "spec.requiresRepublish", "storage.v1.CSIDriverSpec", False, type="boolean"),
        col("Modes", _modes, "storage.v1.CSIDriverSpec.volumeLifecycleModes"),
        AGE,
    ),
    ("storage.k8s.io", "csinodes"): table(
        col(
            "Drivers",
            count("spec.drivers"),
            text="Drivers indicates the number of CSI drivers registered on the node",
            type="integer",
        ),
        AGE,
    ),
    ("storage.k8s.io", "csistoragecapacities"): PLAIN,
    ("storage.k8s.io", "volumeattributesclasses"): table(
        field("DriverName", "driverName", "storage.v1.VolumeAttributesClass"), AGE
    ),
    ("resource.k8s.io", "deviceclasses"): table(AGE),
    ("resource.k8s.io", "resourceclaims"): table(
        col("State", _claim_state, text="A summary of the current state (allocated, pending, reserved, etc.)."), AGE
    ),
    ("resource.k8s.io", "resourceclaimtemplates"): table(AGE),
    ("resource.k8s.io", "resourceslices"): table(
        field("Node", "spec.nodeName", "resource.v1.ResourceSliceSpec"),
        field("Driver", "spec.driver", "resource.v1.ResourceSliceSpec"),
        field("Pool", "spec.pool.name", "resource.v1.ResourcePool"),
        AGE,
    ),
}
