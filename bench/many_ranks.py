#!/usr/bin/env python3
"""What more ranks cost: start-up, steps, checkpoints and a rank's memory, as a table over the number of ranks.

    bench/many_ranks.py PROGRAM [RANKS ...]      # without numbers: 1 8 32 64 128

Ranks beyond the cores of the machine share them: then steps say what their processes cost together, and not what a
cluster would do. A program that begins MPI, sums a word and ends stands beside it: its time and memory are those of
the MPI library, which are taken off.

All runs have the same records, blocks and seed. A number is the median of three runs.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BARE = r"""
#include <mpi.h>
int main(int argc, char** argv) {
  long word = 1, sum = 0;
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Reduce(&word, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Barrier(node);
  MPI_Finalize();
  return 0;
}
"""

# Prints the most memory that its program had, in KiB.
WEIGH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
open(sys.argv[1] + "/" + str(__import__("os").getpid()), "w").write(
    str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""

CONFIG = """[data]
train = table.csv
label = label
header = yes
positive = 1
blocks = {blocks}
[objective]
name = logistic
[method]
name = dp-sgd
batch = 512
clip = 1
rate = 0.5
[privacy]
epsilon = 2
delta = 1e-6
seed = 1
"""


class Bench:
    def __init__(self, program, folder, blocks):
        self.program, self.folder, self.runs = program, folder, 0
        subprocess.run([program, "generate", "--kind", "blobs", "--classes", "2", "--records", "20000", "--features",
                        "40", "--output", "table.csv"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/config.ini", "w") as out:
            out.write(CONFIG.format(blocks=blocks))
        with open(folder + "/bare.c", "w") as out:
            out.write(BARE)
        subprocess.run(["mpicc", "-o", "bare", "bare.c"], cwd=folder, check=True)

    def launch(self, ranks, command):
        start = time.monotonic()
        done = subprocess.run(["mpirun", "-n", str(ranks), *command], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{command} on {ranks} ranks: {done.stdout}{done.stderr}")
        return time.monotonic() - start

    def train_command(self, *settings):
        self.runs += 1
        command = [self.program, "--quiet", "--config", "config.ini"]
        for setting in (*settings, f"run.dir=run{self.runs}"):
            command += ["--set", setting]
        return command

    def train(self, ranks, *settings):
        return self.launch(ranks, self.train_command(*settings))

    def memory(self, ranks, command):
        """KiB of the largest rank."""
        weights = tempfile.mkdtemp(dir=self.folder)
        self.launch(ranks, [sys.executable, "-c", WEIGH, weights, *command])
        return max(int(open(f"{weights}/{name}").read()) for name in os.listdir(weights))

    def root_times(self):
        """Of the root, over the last run."""
        lines = [json.loads(line) for line in open(f"{self.folder}/run{self.runs}/timing.jsonl")]
        return [line for line in lines if "ledger" in line and line.get("rank", 0) == 0][-1]


def median(measure):
    return statistics.median(measure() for _ in range(3))


def row(bench, ranks, steps, checkpoints):
    bare = median(lambda: bench.launch(ranks, ["./bare"]))
    one = median(lambda: bench.train(ranks, "method.steps=1", "run.checkpoint_every=0"))
    many = median(lambda: bench.train(ranks, f"method.steps={steps}", "run.checkpoint_every=0"))
    root = bench.root_times()
    kept = median(lambda: bench.train(ranks, f"method.steps={steps}", f"run.checkpoint_every={steps // checkpoints}"))
    own = bench.memory(ranks, bench.train_command("method.steps=20")) - bench.memory(ranks, ["./bare"])
    return [ranks, f"{bare:.2f}", f"{one - bare:.2f}", f"{1e3 * (many - one) / (steps - 1):.2f}",
            f"{1e3 * root['ledger'] / steps:.3f}", f"{1e3 * max(0, kept - many) / checkpoints:.1f}", own]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    counts = [int(n) for n in sys.argv[2:]] or [1, 8, 32, 64, 128]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/dev/shm")) as folder:
        bench = Bench(os.path.abspath(sys.argv[1]), folder, max(128, *counts))
        print(f"{os.cpu_count()} cores, {max(128, *counts)} blocks")
        print("| ranks | MPI alone, s | start-up beside it, s | a step, ms | its ledger line, ms | a checkpoint, ms "
              "| memory of a rank beside MPI's, KiB |\n|---|---|---|---|---|---|---|")
        for ranks in counts:
            print("|", " | ".join(str(cell) for cell in row(bench, ranks, 200, 10)), "|", flush=True)


main()
