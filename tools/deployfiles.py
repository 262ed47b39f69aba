"""Generates the files below `deploy/` from the manifests that `jobrelay install` prints: `make deploy-files`."""

from __future__ import annotations

import pathlib

from jobrelay.operate.deploy_files import deploy_files

DEPLOY = pathlib.Path(__file__).resolve().parents[1] / "deploy"


def main() -> None:
    for path, text in deploy_files().items():
        target = DEPLOY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
