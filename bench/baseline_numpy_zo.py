#!/usr/bin/env python3
"""One step of zo-o2nc as a user would write it: a loop over the records of a batch, numpy for everything inside.

    OPENBLAS_NUM_THREADS=1 ./baseline_numpy_zo.py CASE [STEPS]     CASE: block (d = 512, groups of 32), haar (d = 512),
                                                                    glm (d = 1024, haar)

Amplitude phase retrieval | |<w, x>| - y |, batches of 64, one clip and a Fenwick tree of noise: the same steps as
`steps_bench zo-block 64` and `steps_bench zo-glm 64`, which knows the closed form. Prints the median time of a step: of the
clock, and of the processor, which on a machine with other work is the one to compare (with `cpu_us`).
"""
import statistics
import sys
import time

import numpy as np

CASES = {"block": (512, 32), "haar": (512, 512), "glm": (1024, 1024)}  # dimension, directions in a group
BATCH, RADIUS, CLIP, SIGMA, STEP_RADIUS = 64, 0.1, 1.0, 0.01, 1e-3


def directions(random, dim, group):
    """dim unit vectors (rows), orthonormal in groups: QR of normal matrices with a positive diagonal of R."""
    normals = random.standard_normal((dim // group, dim, group))
    q, r = np.linalg.qr(normals)
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return q.transpose(0, 2, 1).reshape(dim, dim)


def losses(points, record, label):
    return np.abs(np.abs(points @ record) - label)


def difference(random, x, y, record, label, group):
    """The clipped estimate of grad f(x) - grad f(y) from 2 d losses of one record."""
    u = RADIUS * directions(random, x.size, group)
    slopes = (losses(x + u, record, label) - losses(y + u, record, label)) / RADIUS
    estimate = slopes @ u / RADIUS
    return estimate * (CLIP / max(CLIP, np.linalg.norm(estimate)))


def main():
    dim, group = CASES[sys.argv[1]]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    random = np.random.default_rng(1)
    data = random.random((2048, dim), dtype=np.float32)
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    labels = random.choice([-1.0, 1.0], 2048)
    order = random.permutation(2048)
    x, delta, g, square = np.zeros(dim), np.zeros(dim), np.zeros(dim), 0.0
    before, prefix, wall, cpu = x, {0: np.zeros(dim)}, [], []
    for t in range(1, steps + 1):
        start, start_cpu = time.perf_counter(), time.process_time()
        w = x + random.random() * delta
        x = x + delta
        batch = order[(t - 1) * BATCH % 2048 :][:BATCH]
        for i in batch:
            g = g + difference(random, w, before, data[i].astype(np.float64), labels[i], group) / BATCH
        prefix[t] = prefix[t & (t - 1)] + SIGMA * random.standard_normal(dim)  # node t, and the prefix before it
        release = g + prefix[t]
        square += release @ release
        delta = delta - STEP_RADIUS / np.sqrt(square) * release
        delta *= STEP_RADIUS / max(STEP_RADIUS, np.linalg.norm(delta))
        before = w
        wall.append(1e6 * (time.perf_counter() - start))
        cpu.append(1e6 * (time.process_time() - start_cpu))
    step, busy = statistics.median(wall), statistics.median(cpu)
    print(f'{{"case":"{sys.argv[1]}","batch":{BATCH},"step_us":{step:.1f},"cpu_us":{busy:.1f}}}')


if __name__ == "__main__":
    main()
