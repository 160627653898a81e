"""A loss that is a stochastic simulator: a day in a clinic, fitted to how long the last patient waited.

A record is a day: booked patients, minutes between appointments, and hours since the last holiday. Its label is the
wait of the last patient in minutes. A booked patient may stay away, may come late, and takes the doctor's time; none
of it is written down. Four numbers are unknown, and w holds them on scales of their own (see `shapes`).

The loss is the energy score (Gneiting and Raftery, 2007) of simulated days against the real one,
E|S - y| - E|S - S'| / 2, which is least for the law that the days come from. The random numbers of a day follow from
its record, so its loss depends on w and on that record alone.

As a program it makes days up:  python3 clinic.py COUNT SEED > days.csv
"""
import numpy as np

simulations = 8  # of a day
most_booked = 24

labels = "real"
batch = 64


def dim(columns):
    if columns != 3:
        raise ValueError(f"a day has 3 columns (with data.bias = 0), not {columns}")
    return 4


def shapes(w):
    """Minutes with the doctor and their spread, share of patients who come, minutes of their lateness: w = 0 is a guess."""
    w = w.astype(np.float64)
    return 10 * np.exp(w[0]), 0.5 * np.exp(w[1]), 1 / (1 + np.exp(-1 - w[2])), 5 * np.exp(w[3])


def mixed(z):
    """Vigna's splitmix64 of every number."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(keys, number):
    """In (0, 1), of every key: number 0, 1, .. of its own sequence."""
    bits = mixed(keys + mixed(np.array([number], np.uint64)))
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def normals(keys, number):
    radius = np.sqrt(-2 * np.log(uniforms(keys, 2 * number)))
    return radius * np.cos(2 * np.pi * uniforms(keys, 2 * number + 1))


def keys_of(X):
    """A key of 64 bits for each simulation of each day, from the bits of its record: days x simulations."""
    key = np.zeros(len(X), np.uint64)
    for column in X.T:
        key = mixed(key ^ np.ascontiguousarray(column).view(np.uint32).astype(np.uint64))
    return mixed(key[:, None] + np.arange(simulations, dtype=np.uint64)[None, :])


def waits(w, X, keys):
    """Minutes that the last patient waits, of every key: Lindley's recursion, patient by patient."""
    service, spread, shows, late = shapes(w)
    booked, between, rested = X[:, 0:1].astype(np.float64), X[:, 1:2].astype(np.float64), X[:, 2:3].astype(np.float64)
    service = service * (1 + 0.1 * np.log1p(rested))
    wait = np.zeros(keys.shape)
    for patient in range(most_booked):
        comes = uniforms(keys, 1000 + patient) < shows
        minutes = service * np.exp(spread * normals(keys, 3 * patient) - spread**2 / 2)
        gap = np.maximum(between + late * normals(keys, 3 * patient + 1), 0)
        wait = np.where(patient < booked, np.maximum(wait + np.where(comes, minutes, 0) - gap, 0), wait)
    return wait


def losses(w, X, y):
    simulated = waits(w, X, keys_of(X))
    to_day = np.abs(simulated - y[:, None]).mean(1)
    between = np.zeros(len(X))
    for shift in range(1, simulations):
        between += np.abs(simulated - np.roll(simulated, shift, axis=1)).mean(1) / (simulations - 1)
    return (to_day - between / 2) / 10


def made_up(count, seed):
    random = np.random.default_rng(seed)
    X = np.stack(
        [random.integers(8, most_booked + 1, count), random.choice([6, 8, 10, 12], count), random.integers(0, 200, count)],
        axis=1,
    ).astype(np.float32)
    keys = random.integers(0, 2**63, (count, 1)).astype(np.uint64)
    truth = np.array([0.25, -0.4, 0.8, 0.5])  # what training has to find
    return X, waits(truth, X, keys)[:, 0]


def synthetic(count, columns):
    return made_up(count, 0)


if __name__ == "__main__":
    import sys

    X, y = made_up(int(sys.argv[1]), int(sys.argv[2]))
    print("wait,booked,between,rested")
    for x, wait in zip(X, y):
        print(f"{wait:.2f},{x[0]:.0f},{x[1]:.0f},{x[2]:.0f}")
