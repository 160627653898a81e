#!/usr/bin/env python3
"""Writes a made-up table of words, what is public about it, and configs that train on it.

    words_table.py FOLDER [RECORDS [COLUMNS [WORDS]]]

FOLDER gets words.csv (RECORDS records, 200,000 if not given), columns.txt (COLUMNS columns of WORDS words together, 60
and 5,000), logistic.ini and mlp.ini.
"""
import random
import sys

folder = sys.argv[1]
records, columns, words = (int(n) for n in (sys.argv[2:] + ["200000", "60", "5000"][len(sys.argv) - 2:]))
random.seed(1)
sizes = [words // columns + (c < words % columns) for c in range(columns)]
weights = [[random.gauss(0, 1) for _ in range(size)] for size in sizes]

with open(f"{folder}/columns.txt", "w") as out:
    for c, size in enumerate(sizes):
        out.write(f"c{c} category words={','.join(f'w{w}' for w in range(size))}\n")
    out.write("label label positive=1\n")

with open(f"{folder}/words.csv", "w") as out:
    out.write(",".join([f"c{c}" for c in range(columns)] + ["label"]) + "\n")
    for _ in range(records):
        row = [int(size * random.random() ** 2) for size in sizes]  # some words are met more often than others
        score = sum(weights[c][w] for c, w in enumerate(row)) / columns ** 0.5
        label = 1 if random.gauss(0, 0.5) < score else 0
        out.write(",".join([f"w{w}" for w in row] + [str(label)]) + "\n")

for name, objective in (("logistic", "name = logistic"), ("mlp", "name = mlp\nhidden = 64\nhead = logistic")):
    with open(f"{folder}/{name}.ini", "w") as out:
        out.write(f"""[data]
train = {folder}/words.csv
columns = {folder}/columns.txt
header = yes
blocks = 16
[objective]
{objective}
[method]
name = dp-sgd
batch = 4096
steps = 40
clip = 1
rate = 1
[privacy]
epsilon = 2
delta = 1e-6
seed = 1
""")
