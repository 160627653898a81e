"""A 784-256-10 network in numpy, for bench/python_losses_bench.cpp."""
import numpy as np

labels, classes, batch = "class", 10, 256
inputs, hidden = 785, 256  # with the constant column


def dim(columns):
    if columns != inputs:
        raise ValueError(f"{columns} columns, where {inputs} are measured")
    return inputs * hidden + (hidden + 1) * classes


def losses(w, X, y):
    first, second = w[: inputs * hidden].reshape(inputs, hidden), w[inputs * hidden :].reshape(hidden + 1, classes)
    h = np.maximum(X @ first, 0)
    logits = (h @ second[:hidden] + second[hidden]).astype(np.float64)
    logits -= logits.max(1, keepdims=True)
    return np.log(np.exp(logits).sum(1)) - logits[np.arange(len(y)), y]
