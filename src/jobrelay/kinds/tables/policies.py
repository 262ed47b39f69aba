"""The tables of access, admission, flow control, scheduling and certificate kinds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

from jobrelay.kinds.tables.ages import human_duration
from jobrelay.kinds.tables.columns import AGE, PLAIN, Column, Obj, TableSpec, at, col, count, field, number, table, wide
from jobrelay.kinds.tables.texts import NONE, UNSET, condition_of

_WEBHOOKS: Final = table(
    col(
        "Webhooks",
        count("webhooks"),
        text="Webhooks indicates the number of webhooks registered in this configuration",
        type="integer",
    ),
    AGE,
)


def _role(binding: Obj, now: dt.datetime) -> str:
    ref = binding.get("roleRef") or {}
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


def _subjects(kind: str) -> Callable[[Obj, dt.datetime], str]:
    def cell(binding: Obj, now: dt.datetime) -> str:
        found = [subject for subject in binding.get("subjects") or () if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in found)
        return ", ".join(subject.get("name", "") for subject in found)

    return cell


def _binding_table(doc: str, word: str) -> TableSpec:
    return table(
        col("Role", _role, doc, edits=((" This field is immutable.", ""),)),
        AGE,
        wide("Users", _subjects("User"), text=f"Users in the {word}"),
        wide("Groups", _subjects("Group"), text=f"Groups in the {word}"),
        wide("ServiceAccounts", _subjects("ServiceAccount"), text=f"ServiceAccounts in the {word}"),
    )


def _param_kind(policy: Obj, now: dt.datetime) -> str:
    kind = (policy.get("spec") or {}).get("paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind is not None else UNSET


def _param_ref(binding: Obj, now: dt.datetime) -> str:
    ref = (binding.get("spec") or {}).get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    return _go_selector(ref["selector"]) if ref.get("selector") is not None else UNSET


def _go_selector(selector: dict[str, Any]) -> str:
    """A LabelSelector as its generated Go `String` prints it."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{entry.get('key', '')},Operator:{entry.get('operator', '')},"
        f"Values:[{' '.join(entry.get('values') or ())}],}},"
        for entry in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _dangling(schema: Obj, now: dt.datetime) -> str:
    condition = condition_of((schema.get("status") or {}).get("conditions"), "Dangling")
    return "?" if condition is None else str(condition.get("status", ""))


def _by_precedence(schemas: list[Obj]) -> list[Obj]:
    return sorted(schemas, key=lambda schema: (schema["spec"].get("matchingPrecedence", 0), schema["metadata"]["name"]))


def _csr_duration(csr: Obj, now: dt.datetime) -> str:
    seconds = csr["spec"].get("expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def _csr_condition(csr: Obj, now: dt.datetime) -> str:
    status = csr.get("status") or {}
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    text = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    return text + (",Failed" if "Failed" in kinds else "") + (",Issued" if status.get("certificate") else "")


def _queuing(name: str) -> Column:
    path = f"spec.limited.limitResponse.queuing.{name}"
    return field(name[0].upper() + name[1:], path, "flowcontrol.v1.QueuingConfiguration", NONE)


TABLES: Final[dict[tuple[str, str], TableSpec]] = {
    ("rbac.authorization.k8s.io", "roles"): PLAIN,
    ("rbac.authorization.k8s.io", "clusterroles"): PLAIN,
    ("rbac.authorization.k8s.io", "rolebindings"): _binding_table("rbac.v1.RoleBinding.roleRef", "roleBinding"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _binding_table(
        "rbac.v1.ClusterRoleBinding.roleRef", "clusterRoleBinding"
    ),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): table(
        col(
            "Validations",
            count("spec.validations"),
            text="Validations indicates the number of validation rules defined in this configuration",
            type="integer",
        ),
        col(
            "ParamKind", _param_kind, text="ParamKind specifies the kind of resources used to parameterize this policy"
        ),
        AGE,
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): table(
        col(
            "PolicyName",
            "spec.policyName",
            text="PolicyName indicates the policy definition which the policy binding binded to",
        ),
        col("ParamRef", _param_ref, text="ParamRef indicates the param resource which sets the configuration param"),
        AGE,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): PLAIN,
    ("scheduling.k8s.io", "priorityclasses"): table(
        number("Value", "value", "scheduling.v1.PriorityClass"),
        field("Global-Default", "globalDefault", "scheduling.v1.PriorityClass", False, type="boolean"),
        AGE,
        field("PreemptionPolicy", "preemptionPolicy", "scheduling.v1.PriorityClass"),
    ),
    ("coordination.k8s.io", "leases"): table(field("Holder", "spec.holderIdentity", "coordination.v1.LeaseSpec"), AGE),
    ("node.k8s.io", "runtimeclasses"): table(col("Handler", "handler"), AGE),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): table(
        field(
            "PriorityLevel",
            "spec.priorityLevelConfiguration.name",
            "flowcontrol.v1.PriorityLevelConfigurationReference",
        ),
        field("MatchingPrecedence", "spec.matchingPrecedence", "flowcontrol.v1.FlowSchemaSpec", 0),
        col(
            "DistinguisherMethod",
            at("spec.distinguisherMethod.type", NONE),
            "flowcontrol.v1.FlowSchemaSpec.distinguisherMethod",
        ),
        AGE,
        col("MissingPL", _dangling, text="references a broken or non-existent PriorityLevelConfiguration"),
        order=_by_precedence,
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): table(
        field("Type", "spec.type", "flowcontrol.v1.PriorityLevelConfigurationSpec"),
        field(
            "NominalConcurrencyShares",
            "spec.limited.nominalConcurrencyShares",
            "flowcontrol.v1.LimitedPriorityLevelConfiguration",
            NONE,
        ),
        _queuing("queues"),
        _queuing("handSize"),
        _queuing("queueLengthLimit"),
        AGE,
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): table(
        AGE,
        field("SignerName", "spec.signerName", "certificates.v1.CertificateSigningRequestSpec", NONE),
        col("Requestor", "spec.username", text="Base64-encoded PKCS#10 CSR data"),
        col("RequestedDuration", _csr_duration, "certificates.v1.CertificateSigningRequestSpec.expirationSeconds"),
        col("Condition", _csr_condition, text="Conditions applied to the request, such as approval or denial."),
    ),
}
