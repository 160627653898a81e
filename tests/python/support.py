"""What tests of the Python package share: tiny trainings, and what the program itself says of the same records."""

import csv
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import dpmpi

# Few steps, and an accountant that needs no search.
TINY = {"privacy.accountant": "rdp", "privacy.noise_multiplier": 0.5, "privacy.delta": 1e-5, "method.name": "dp-sgd",
        "method.steps": 3, "method.batch": 20, "method.rate": 0.5, "method.seed": 7}
TINY_SADDLE = {**TINY, "method.name": "dp-sgda"}


def records(n=80, d=4, seed=1):
    """n x d numbers."""
    return np.random.default_rng(seed).normal(size=(n, d))


def children_of(process):
    """Numbers of the processes that it has started."""
    numbers = map(int, filter(str.isdigit, os.listdir("/proc")))
    return [number for number in numbers if _fields(number)[1:2] == [str(process)]]


def is_running(process):
    return _fields(process)[:1] not in ([], ["Z"])


def _fields(process):
    """Of its line in /proc behind its name: state, parent, ...; none of one that is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


class InFolder(unittest.TestCase):
    """A test in a folder of its own, where relative paths start, and which is gone afterwards."""

    def setUp(self):
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        folder = tempfile.TemporaryDirectory(prefix="dpmpi-test-", dir=memory)
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = Path(folder.name)

    def train(self, settings, base=TINY):
        return dpmpi.train({**base, **settings}, ranks=1, show=False)

    def wait_for(self, is_true):
        end = time.time() + 60
        while not is_true():
            self.assertLess(time.time(), end, "nothing happened")
            time.sleep(0.05)

    def write_table(self, name, names, columns, delimiter=","):
        """Texts as they stand, numbers as Python writes them."""
        with open(name, "w", newline="") as file:
            table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            table.writerow(names)
            table.writerows(zip(*columns))

    def predicted(self, run, data, *sets, ends="scores.npy", more=()):
        """What dpmpi predict writes of a file."""
        words = [word for entry in sets for word in ("--set", entry)]
        command = [os.environ["DPMPI"], "predict", str(getattr(run, "path", run)), "--data", data, "--output", ends,
                   *words, *more]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        if ends.endswith(".npy"):
            return np.load(ends)
        with open(ends, newline="") as file:
            return list(csv.DictReader(file))

    def assert_same_scores(self, run, X, data, *sets):
        """To 1e-6 of a score, or 1e-6 where that is below 1."""
        expected = self.predicted(run, data, *sets)
        scores = dpmpi.load_model(run.path).scores(X)
        self.assertEqual(scores.shape, expected.shape)
        self.assertTrue(np.isfinite(expected).all())
        self.assertGreater(np.ptp(expected), 1e-3, "all records have one score: nothing is compared")
        off = np.abs(scores - expected) / np.maximum(1, np.abs(expected))
        self.assertLess(off.max(), 1e-6)
        return scores
