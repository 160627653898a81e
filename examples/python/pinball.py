"""Quantile regression: the losses of examples/plugin/pinball.c, bit for bit.

With residual r = y - <w, x> and quantile q the loss is q r for r >= 0 and (q - 1) r below (Koenker and Bassett, 1978).
`objective.parameters` is the quantile.
"""
import numpy as np

quantile = float(parameters or "0.5")
if not 0 < quantile < 1:
    raise ValueError(f"objective.parameters = {parameters}, allowed: a quantile in (0, 1)")

labels = "real"
batch = 64


def dim(columns):
    return columns


def residuals(w, X, y):
    # Column by column in double: a matrix product would be quicker, and round otherwise than the loop in C.
    w, X, r = (a.astype(np.float64) for a in (w, X, y))
    for j in range(X.shape[1]):
        r -= w[j] * X[:, j]
    return r


def losses(w, X, y):
    r = residuals(w, X, y)
    return np.where(r < 0, quantile - 1, quantile) * r


def losses_at(points, X, y):
    return np.stack([losses(w, X, y) for w in points])


def scores(w, X):
    return -residuals(w, X, np.zeros(len(X), np.float32))
