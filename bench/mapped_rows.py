#!/usr/bin/env python3
"""Rows in their file against rows in memory, where the file is twice the memory (data.memory = map).

    bench/mapped_rows.py PROGRAM FOLDER [MEGABYTES RANKS]     # 1024 2; FOLDER is on the disk to measure

Makes a table of float32 of that size, and trains a linear model on it: in memory without a limit, and mapped in a control
group whose memory (page cache included) is half the file. Needs root, and cgroup v1 or v2 with the memory controller.
For each it prints seconds a step of random batches and of full passes (the root's time between the first and the last
step, over the steps; the median of three runs), their ratio, and the rate of full passes against what the disk gives to a plain reading of the same file
with nothing in the cache.
"""
import json
import os
import statistics
import subprocess
import sys
import time

FEATURES = 256

CONFIG = """[data]
train = mapped.bin
positive = 1
blocks = 64
[objective]
name = logistic
[method]
name = dp-sgd
clip = 1
rate = 0.1
[privacy]
epsilon = 2
delta = 1e-8
seed = 1
[run]
checkpoint_every = 0
[report]
eval_every = 1000000
"""


class Group:
    """A control group with so much memory. It is empty, and goes away, when its processes have ended."""

    def __init__(self, limit):
        one = os.path.isdir("/sys/fs/cgroup/memory")
        self.path = ("/sys/fs/cgroup/memory" if one else "/sys/fs/cgroup") + "/dpmpi-mapped-rows"
        os.makedirs(self.path, exist_ok=True)
        with open(self.path + ("/memory.limit_in_bytes" if one else "/memory.max"), "w") as out:
            out.write(str(limit))

    def enter(self):
        with open(self.path + "/cgroup.procs", "w") as out:
            out.write(str(os.getpid()))

    def end(self):
        os.rmdir(self.path)


def forget(path):
    """Its pages leave the cache, and no others."""
    subprocess.run(["sync", path], check=True)
    with open(path, "rb") as data:
        os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_rate(path):
    forget(path)
    start, size = time.monotonic(), os.path.getsize(path)
    with open(path, "rb", buffering=0) as data:
        while data.read(1 << 20):
            pass
    return size / (time.monotonic() - start)


def make_files(program, folder, megabytes):
    records = (megabytes << 20) // (4 * FEATURES)
    path = folder + "/mapped.bin"
    if not os.path.exists(path):
        subprocess.run([program, "generate", "--kind", "blobs", "--classes", "2", "--records", str(records),
                        "--eval-records", "0", "--features", str(FEATURES), "--format", "native", "--output",
                        folder + "/plain.bin"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "convert", folder + "/plain.bin", path, "--set", "data.memory=map"], check=True)
        os.remove(folder + "/plain.bin")
    with open(folder + "/config.ini", "w") as out:
        out.write(CONFIG)
    return path, records


def train(program, folder, ranks, group, settings):
    forget(folder + "/mapped.bin")
    run = f"{folder}/run-{os.getpid()}"
    command = ["mpirun", "-n", str(ranks), program, "--quiet", "--config", folder + "/config.ini"]
    for setting in (*settings, f"run.dir={run}"):
        command += ["--set", setting]
    done = subprocess.run(command, preexec_fn=group.enter if group else None, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    with open(run + "/model.safetensors", "rb") as model:
        weights = model.read()
    with open(run + "/timing.jsonl") as times:
        seconds = next(line["seconds"] for line in map(json.loads, times) if line.get("rank") == 0)
    subprocess.run(["rm", "-r", run], check=True)
    return seconds, weights


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    megabytes, ranks = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (1024, 2)
    os.makedirs(folder, exist_ok=True)
    path, records = make_files(program, folder, megabytes)
    size = os.path.getsize(path)
    rate = disk_rate(path)
    print(f"{size / 1e6:.0f} MB, {records} records, {ranks} ranks, {size / 2e6:.0f} MB of memory; "
          f"the disk gives {rate / 1e6:.0f} MB/s")
    group = Group(size // 2)
    cases = [("random batches of 4096", ["method.batch=4096"], 60),
             ("full passes", ["method.sampling=full", f"method.batch={records}"], 5)]
    for name, settings, steps in cases:
        per_step, model = {}, {}
        for memory in ("load", "map"):
            limits = group if memory == "map" else None
            seconds = []
            for _ in range(3):
                took, model[memory] = train(program, folder, ranks, limits,
                                            [*settings, f"data.memory={memory}", f"method.steps={steps}"])
                seconds.append(took / steps)
            per_step[memory] = statistics.median(seconds)
        print(f"{name}: {1e3 * per_step['load']:.2f} ms a step in memory, {1e3 * per_step['map']:.2f} ms mapped: "
              f"{per_step['map'] / per_step['load']:.2f} times as long")
        if name == "full passes":
            print(f"full passes: {size / per_step['map'] / 1e6:.0f} MB/s, {size / per_step['map'] / rate:.2f} of the disk's rate")
        print(f"{name}: the models are {'the same bytes' if model['load'] == model['map'] else 'DIFFERENT'}")
    group.end()


main()
