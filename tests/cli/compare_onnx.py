"""What a second reader makes of an ONNX file, against what dpmpi predict wrote.

compare_onnx.py MODEL.onnx TABLE SCORES.npy PREDICTIONS.csv [DATE_COLUMN FORMAT | --libsvm FEATURES | --columns 1,2,...]

The table has a header, but with --columns, where these columns are the input `features`, or inputs called by their numbers.
"""
import csv
import datetime
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "model"))

import numpy as np
import onnx

import score_onnx

EPOCH = datetime.datetime(1970, 1, 1)


def days(text, form):
    try:
        return (datetime.datetime.strptime(text, form) - EPOCH) / datetime.timedelta(days=1)
    except ValueError:
        return np.nan


def dense(path, features):
    lines = [line.split() for line in open(path)]
    x = np.zeros((len(lines), features))
    for record, line in enumerate(lines):
        for entry in line[1:]:
            index, value = entry.split(":")
            x[record, int(index) - 1] = float(value)
    return {"features": x}


def inputs_of(graph, table, options):
    if options[:1] == ["--libsvm"]:
        return dense(table, int(options[1]))
    with open(table, newline="") as file:
        rows = list(csv.reader(file))
    if options[:1] == ["--columns"]:
        names = [str(c + 1) for c in range(len(rows[0]))]
        if [value.name for value in graph.input] == ["features"]:
            used = [int(c) - 1 for c in options[1].split(",")]
            return {"features": np.array([[score_onnx.number(row[c]) for c in used] for row in rows])}
    else:
        names = rows.pop(0)
    inputs = score_onnx.columns(graph, [dict(zip(names, row)) for row in rows])
    if options and options[0] in names:
        at = names.index(options[0])
        inputs[options[0]] = np.array([[days(row[at], options[1])] for row in rows])
    return inputs


def difference(name, ours, theirs):
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or (np.isnan(ours) != np.isnan(theirs)).any():
        sys.exit(f"{name}: {ours.shape} where dpmpi has {theirs.shape}, or other records without one")
    relative = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    if not np.nanmax(relative) <= 1e-6:
        sys.exit(f"{name}: {np.nanmax(relative)} apart in record {np.nanargmax(relative.max(axis=1)) + 1}")
    return np.nanmax(relative)


def main(model_file, table, scores_file, predictions_file, *options):
    model = onnx.load(model_file)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    outputs = score_onnx.run(model.graph, inputs_of(model.graph, table, list(options)))
    for value in model.graph.output:
        width = value.type.tensor_type.shape.dim[1].dim_value
        if outputs[value.name].shape[1:] != (width,):
            sys.exit(f"{value.name}: {outputs[value.name].shape}, but it is declared with {width} columns")

    with open(predictions_file, newline="") as file:
        rows = list(csv.DictReader(file))
    said = {name: [row[name] for row in rows] for name in rows[0]}
    floats = lambda name: np.array([float(x) for x in said[name]]).reshape(-1, 1)
    scores = np.load(scores_file)
    # A column may be called score; then the output is another one.
    name = next((name for name in outputs if name.startswith("score")), "prediction")
    apart = [difference(name, outputs[name], scores)]
    if "prediction" in outputs:
        apart.append(difference("prediction", outputs["prediction"], floats("prediction")))
    if "label" in outputs and outputs["label"].ravel().tolist() != said["prediction"]:
        sys.exit("other labels than dpmpi's")
    if "probability" in outputs:
        apart.append(difference("probability", outputs["probability"], floats("probability")))
    if "probabilities" in outputs:
        all_of_them = np.hstack([floats(name) for name in said if name.startswith("probability_")])
        apart.append(difference("probabilities", outputs["probabilities"], all_of_them))
    print(f"{len(rows)} records, {len(apart)} kinds of numbers, at most {max(apart):.2g} apart")


main(*sys.argv[1:])
