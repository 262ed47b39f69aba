"""Image references, as far as they decide the default pull policy: is the tag `latest`?"""

from __future__ import annotations

import functools
import re
from typing import Final

_ALNUM: Final = "[a-z0-9]+"
_SEPARATOR: Final = "(?:[._]|__|[-]+)"
_COMPONENT: Final = f"{_ALNUM}(?:{_SEPARATOR}{_ALNUM})*"
_DOMAIN_PART: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_TAG: Final = r"[\w][\w.-]{0,127}"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9a-fA-F]{32,}"
_reference = re.compile(
    rf"((?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)(?::({_TAG}))?(?:@({_DIGEST}))?", re.ASCII
).fullmatch
_HEX_NAME = re.compile("[a-f0-9]{64}").fullmatch


@functools.lru_cache(1024)
def default_pull_policy(image: str) -> str:
    """`Always` for images that are, or count as, tagged `latest`; broken references count as tagged otherwise."""
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    if _HEX_NAME(image):
        return ""
    domain, slash, rest = image.partition("/")
    if not slash or (not any(c in domain for c in ".:") and domain != "localhost" and domain.lower() == domain):
        domain, rest = "docker.io", image
    remote = rest.partition(":")[0] if ":" in rest else rest
    if remote.lower() != remote:
        return ""
    match = _reference(f"{domain}/{'library/' if domain == 'docker.io' and '/' not in rest else ''}{rest}")
    if match is None or len(match.group(1)) > 255:
        return ""
    _, tag, digest = match.groups()
    return tag or ("" if digest else "latest")
