#!/usr/bin/env python3
"""Scores the records of a CSV file by a logistic model of dpmpi, without dpmpi:  score.py RUN FILE.csv

Needs nothing but Python. RUN/model.safetensors holds the tensors "weight" (1 x features) and "bias"; the probability of
+1 is sigmoid(<weight, features> + bias * data.bias). FILE.csv has a header and a column called label.
"""
import array
import csv
import json
import math
import struct
import sys


def read_safetensors(path):
    """The text pairs of the file, and its tensors as flat arrays of float32."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = array.array("f", data[begin:end])
    return metadata, tensors


def main(run, path):
    metadata, tensors = read_safetensors(run + "/model.safetensors")
    if metadata["objective"] != "logistic":
        sys.exit("this example knows logistic models; the run's objective is " + metadata["objective"])
    if "class_weights" in metadata.get("recipe", ""):
        sys.exit("this example knows no class weights: take log(weight of +1 / weight of -1) from its scores")
    weight, bias = tensors["weight"], tensors["bias"][0]
    print("record,probability")
    with open(path, newline="") as file:
        for record, row in enumerate(csv.DictReader(file), 1):
            features = [float(value) for name, value in row.items() if name != "label"]
            score = math.fsum(w * x for w, x in zip(weight, features)) + bias
            print(f"{record},{1 / (1 + math.exp(-score)):.6g}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
