"""All targets by name."""

from typing import Final

from ..target import Target
from .client import CLIENT
from .documents import DOCUMENTS
from .recordings import RECORDINGS
from .relay import RELAY
from .server import SERVER
from .texts import TEXTS
from .tokens import TOKENS

TARGETS: Final[dict[str, Target]] = {
    target.name: target for target in (*DOCUMENTS, *TEXTS, *SERVER, *TOKENS, *CLIENT, *RELAY, *RECORDINGS)
}
