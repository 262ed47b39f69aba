"""The three ways to patch an object, besides server-side apply: JSON patch, merge patch, strategic merge patch.

None of them changes the object it is given: what is not touched is shared with the result.
"""

from jobrelay.apimachinery.patch.convert import UnstructuredConversionError, convert
from jobrelay.apimachinery.patch.errors import PatchError, go_format
from jobrelay.apimachinery.patch.jsonpatch import apply_json_patch, check_json_patch
from jobrelay.apimachinery.patch.merge import apply_merge_patch, check_merge_patch
from jobrelay.apimachinery.patch.show import patched_text
from jobrelay.apimachinery.patch.strategic import apply_strategic_patch, check_strategic_patch

__all__ = [
    "PatchError",
    "UnstructuredConversionError",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_patch",
    "check_json_patch",
    "check_merge_patch",
    "check_strategic_patch",
    "convert",
    "go_format",
    "patched_text",
]  # fmt: skip
