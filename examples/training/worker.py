"""One worker of a data-parallel training: it fits a line to its share of the data, together with the others.

Every worker computes the gradient of its own data. The gradients go round a ring of TCP connections until every worker
has all of them, and each takes the same step with their mean. So all end with the same weights, bit by bit. The
coordinator prints the losses and, as its last line, the result.

A JobSet gives each of its pods a name, and these variables say which one this is (see ../08_training.py). Names like
`train-worker-0-1.train` are resolved by the cluster's DNS. An embedded cluster has none, and its pods share the network
of one machine, where they cannot all listen on one port. So each worker listens on a free one and writes its address
under its name into a volume that all of them mount. That works on any cluster with such a volume.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import socket
import struct
import time

TRUE = (3.0, -2.0, 0.5)
SAMPLES, EPOCHS, RATE = 200, 60, 0.5
PATIENCE = 60.0  # seconds until all workers must have been seen

Vector = list[float]


class Ring:
    """Connections to the next and from the previous worker."""

    def __init__(self, names: list[str], rank: int, folder: pathlib.Path, address: str) -> None:
        self.size, self._rank = len(names), rank
        with socket.create_server(("", 0)) as listening:
            write_address(folder / names[rank], f"{address}:{listening.getsockname()[1]}")
            host, _, port = read_address(folder / names[(rank + 1) % self.size]).rpartition(":")
            self._next = socket.create_connection((host, int(port)), PATIENCE)
            listening.settimeout(PATIENCE)
            self._previous, _ = listening.accept()

    def gather(self, own: Vector) -> list[Vector]:
        """The vectors of all workers, by rank: each passes on what it has received, until all have been everywhere."""
        found = {self._rank: own}
        for step in range(self.size - 1):
            self._next.sendall(struct.pack(f"{len(own)}d", *found[(self._rank - step) % self.size]))
            found[(self._rank - step - 1) % self.size] = self._receive(len(own))
        return [found[rank] for rank in range(self.size)]

    def mean(self, own: Vector) -> Vector:
        """The mean of all workers' vectors. All add in the same order, and so get the same bits."""
        return [sum(values) / self.size for values in zip(*self.gather(own), strict=True)]

    def _receive(self, length: int) -> Vector:
        wanted, data = struct.calcsize(f"{length}d"), b""
        while len(data) < wanted:
            part = self._previous.recv(wanted - len(data))
            if not part:
                raise ConnectionError("the previous worker is gone")
            data += part
        return list(struct.unpack(f"{length}d", data))


def write_address(path: pathlib.Path, text: str) -> None:
    """Writes a file that is complete as soon as it can be seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.rename(path)


def read_address(path: pathlib.Path) -> str:
    """Waits for another worker's address."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no worker has written {path.name}")
        time.sleep(0.02)
    return path.read_text()


def samples(rank: int) -> list[tuple[float, float, float]]:
    """This worker's share of the data: two inputs and an output with some noise."""
    source = random.Random(rank)
    inputs = [(source.uniform(-1, 1), source.uniform(-1, 1)) for _ in range(SAMPLES)]
    return [(a, b, TRUE[0] * a + TRUE[1] * b + TRUE[2] + source.gauss(0, 0.1)) for a, b in inputs]


def loss_and_gradient(weights: Vector, data: list[tuple[float, float, float]]) -> Vector:
    """The mean square error, and its gradient."""
    found = [0.0] * 4
    for a, b, wanted in data:
        error = weights[0] * a + weights[1] * b + weights[2] - wanted
        for index, each in enumerate((error * error, 2 * error * a, 2 * error * b, 2 * error)):
            found[index] += each / len(data)
    return found


def main() -> None:
    variables = os.environ
    jobs, pods = int(variables["JOBS"]), int(variables["PODS_PER_JOB"])
    job, pod = int(variables["JOB_INDEX"]), int(variables["JOB_COMPLETION_INDEX"])
    start = f"{variables['JOBSET']}-{variables['REPLICATED_JOB']}"
    names = [f"{start}-{one}-{two}.{variables['JOBSET']}" for one in range(jobs) for two in range(pods)]
    rank = job * pods + pod
    coordinates = names[rank] == variables["COORDINATOR"]
    # A JobSet that is restarted, or created again, begins with an empty folder.
    folder = pathlib.Path(variables["RENDEZVOUS"]) / variables["JOBSET_UID"] / variables["ATTEMPT"]
    ring = Ring(names, rank, folder, variables["POD_IP"])
    print(f"worker {rank} of {ring.size}: {names[rank]}", flush=True)
    data, weights, losses = samples(rank), [0.0, 0.0, 0.0], []
    for epoch in range(EPOCHS):
        loss, *gradient = ring.mean(loss_and_gradient(weights, data))
        weights = [weight - RATE * each for weight, each in zip(weights, gradient, strict=True)]
        losses.append(loss)
        if coordinates and epoch % 10 == 0:
            print(f"epoch {epoch:2}: loss {loss:.5f}", flush=True)
    everywhere = ring.gather(weights)
    if any(each != weights for each in everywhere):
        raise SystemExit(f"the workers' weights differ: {everywhere}")
    if coordinates:
        print(
            json.dumps({"workers": ring.size, "first": losses[0], "last": losses[-1], "weights": weights}), flush=True
        )


if __name__ == "__main__":
    main()
