#!/usr/bin/env python3
"""Writes a made-up table of a logistic model with correlated features, as docs/results/default_settings.md has them.

    logistic_table.py FOLDER NAME RECORDS FEATURES STRENGTH CORRELATION SHIFT [EVAL_RECORDS]

FOLDER gets NAME.csv and NAME-eval.csv: a label, -1 or 1, and features of mean 0 and deviation 1. STRENGTH is the length
of the weights, CORRELATION that of two features, SHIFT the bias.
"""
import math
import random
import sys

folder, name = sys.argv[1:3]
records, features = int(sys.argv[3]), int(sys.argv[4])
strength, correlation, shift = map(float, sys.argv[5:8])
evaluated = int(sys.argv[8]) if len(sys.argv) > 8 else 5000
draw = random.Random(name)
weights = [draw.gauss(0, 1) * 0.9 ** j for j in range(features)]
length = math.sqrt(sum(w * w for w in weights))


def write(path, count):
    with open(path, "w") as out:
        out.write("label," + ",".join(f"x{j}" for j in range(features)) + "\n")
        for _ in range(count):
            common = draw.gauss(0, 1)
            x = [math.sqrt(correlation) * common + math.sqrt(1 - correlation) * draw.gauss(0, 1) for _ in weights]
            score = sum(w * v for w, v in zip(weights, x)) * strength / length + shift + 0.3 * x[0] * x[1]
            label = 1 if draw.random() < 1 / (1 + math.exp(-score)) else -1
            out.write(f"{label}," + ",".join(f"{v:.6g}" for v in x) + "\n")


write(f"{folder}/{name}.csv", records)
write(f"{folder}/{name}-eval.csv", evaluated)
