#!/usr/bin/env python3
"""Scores the records of a CSV file by a model that `dpmpi export` wrote, without dpmpi:  score_onnx.py MODEL.onnx FILE.csv

FILE.csv has a header. Needs python3-onnx and numpy, and computes the few operators of such a file itself. An ONNX runtime
does the same: onnxruntime.InferenceSession("MODEL.onnx").run(None, inputs).
"""
import csv
import sys

import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64, onnx.TensorProto.BOOL: np.bool_}


def gemm(a, b, c=0, alpha=1.0, beta=1.0, transA=0, transB=0):
    return alpha * ((a.T if transA else a) @ (b.T if transB else b)) + beta * c


def label_encoder(x, keys_strings, values_int64s, default_int64):
    table = dict(zip((key.decode() for key in keys_strings), values_int64s))
    return np.array([table.get(word, default_int64) for word in x.ravel()], np.int64).reshape(x.shape)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def windows(images, shape, strides, pads=(0, 0, 0, 0)):
    """N x channels x height x width x window: the windows of images, with so many zeros around these."""
    top, left, bottom, right = pads
    framed = np.pad(images, ((0, 0), (0, 0), (top, bottom), (left, right)))
    every = np.lib.stride_tricks.sliding_window_view(framed, tuple(shape), axis=(2, 3))
    return every[:, :, ::strides[0], ::strides[1]]


def conv(x, weights, bias, kernel_shape, strides, pads, group=1):
    seen = windows(x, kernel_shape, strides, pads).astype(np.float64)
    seen = seen.reshape(len(seen), group, -1, *seen.shape[2:])
    kernels = weights.astype(np.float64).reshape(group, -1, *weights.shape[1:])
    sums = np.einsum("ngchwij,gmcij->ngmhw", seen, kernels, optimize=True)
    return (sums.reshape(len(sums), -1, *sums.shape[3:]) + bias.reshape(-1, 1, 1)).astype(x.dtype)


def reshape(x, shape):
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def stack(arrays, axis):
    return np.concatenate(arrays, axis=axis)


OPERATORS = {
    "Abs": np.abs, "Add": np.add, "Div": np.divide, "Exp": np.exp, "Greater": np.greater, "IsNaN": np.isnan,
    "Less": np.less, "Log": np.log, "Max": np.maximum, "Mul": np.multiply, "Neg": np.negative, "Sqrt": np.sqrt,
    "Sub": np.subtract, "Tanh": np.tanh, "Where": np.where, "Softmax": softmax, "Gemm": gemm,
    "LabelEncoder": label_encoder, "Identity": lambda x: x, "Flatten": lambda x: x.reshape(len(x), -1),
    "Concat": lambda *x, axis: stack(x, axis), "Gather": lambda x, i, axis=0: np.take(x, i, axis),
    "Cast": lambda x, to: x.astype(TYPES[to]), "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Reshape": reshape, "Conv": conv,
    "Expand": lambda x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))),
    "MaxPool": lambda x, kernel_shape, strides: windows(x, kernel_shape, strides).max(axis=(4, 5)),
    "AveragePool": lambda x, kernel_shape, strides: windows(x, kernel_shape, strides).mean(axis=(4, 5)),
    "ReduceMean": lambda x, axes, keepdims: x.mean(axis=tuple(axes), keepdims=bool(keepdims)),
    "ArgMax": lambda x, axis, keepdims: np.expand_dims(np.argmax(x, axis), axis),
    "ReduceMax": lambda x, axes, keepdims: x.max(axis=tuple(axes), keepdims=bool(keepdims)),
    "ReduceSum": lambda x, axes, keepdims: x.sum(axis=tuple(axes), keepdims=bool(keepdims)),
    "ReduceSumSquare": lambda x, axes, keepdims: (x * x).sum(axis=tuple(axes), keepdims=bool(keepdims)),
}


def run(graph, inputs):
    """The outputs of a graph, by name. `inputs`: an array for each input, N x columns."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values = {name: value.astype(str) if value.dtype == object else value for name, value in values.items()}
    values.update(inputs)
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        with np.errstate(all="ignore"):
            values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input), **attributes)
    return {output.name: values[output.name] for output in graph.output}


def number(text):
    """A number, or a day like 2026-01-31 as days since 1970; NaN for anything else."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(np.datetime64(text, "D").astype(np.int64)) if text else np.nan
    except ValueError:
        return np.nan


def columns(graph, rows):
    """The inputs of a graph from the rows of a table: dictionaries of texts."""
    inputs = {}
    for value in graph.input:
        texts = [row[value.name].strip() for row in rows]
        is_text = value.type.tensor_type.elem_type == onnx.TensorProto.STRING
        inputs[value.name] = np.array(texts if is_text else [number(text) for text in texts]).reshape(-1, 1)
    return inputs


def main(model, path):
    graph = onnx.load(model).graph
    with open(path, newline="", errors="surrogateescape") as file:
        rows = list(csv.DictReader(file))
    outputs = run(graph, columns(graph, rows))
    print(",".join(["record", *outputs]))
    for record in range(len(rows)):
        cells = (" ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in array[record].tolist())
                 for array in outputs.values())
        print(",".join([str(record + 1), *cells]))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
