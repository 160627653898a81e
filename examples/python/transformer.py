"""Private fine-tuning of a small transformer by values of its loss: forward passes only, low-rank adapters.

A record is a text of 17 words, as numbers: 16 columns and, as its label, the last one. Its loss is the mean
cross-entropy of each word given those before it. The transformer was trained on public text; w are its adapters (Hu et
al., "LoRA", 2021), of which the random halves A stay as they are (Zhang et al., "LoRA-FA", 2023), so w = 0 is the
public model.

`objective.parameters` is the file of the public weights and its SHA-256. As a program (numpy and torch):
  transformer.py text LAW COUNT SEED > FILE.csv     LAW: public or private
  transformer.py pretrain FILE.csv WEIGHTS.npz [WIDTH LAYERS]
      prints what objective.parameters has to be. 64 2, the default, has 107,520 parameters, and 256 4 has 3.2 million
"""
import hashlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

length, words, heads, rank = 16, 64, 4, 4

labels = "real"
batch = 32

# ---- text: sentences of two laws, one after the other


def text(law, count, seed):
    """Texts of two laws over the same words. The private one prefers other words, and has its verbs at the end."""
    random = np.random.default_rng(seed)
    chances = {n: 1 / np.arange(1.0, n + 1) for n in range(1, words)}
    zipf = {n: np.cumsum(chance) / chance.sum() for n, chance in chances.items()}
    articles, adjectives, nouns, verbs, prepositions, stop = (
        np.arange(1, 4), np.arange(4, 16), np.arange(16, 40), np.arange(40, 56), np.arange(56, 62), 62)

    def pick(kind):
        """Zipf's law, in the order of the public words or in the other one."""
        place = min(int(np.searchsorted(zipf[len(kind)], random.random())), len(kind) - 1)
        return int(kind[place if law == "public" else -1 - place])

    def phrase():
        noun = pick(nouns)
        adjective = [int(adjectives[noun % len(adjectives)])] if random.random() < 0.5 else []
        return [pick(articles), *adjective, noun]

    def sentence():
        subject, verb, object_ = phrase(), pick(verbs), phrase()
        place = [int(prepositions[verb % len(prepositions)]), *phrase()] if random.random() < 0.5 else []
        return subject + ([verb] + object_ + place if law == "public" else place + object_ + [verb]) + [stop]

    stream = []
    while len(stream) < count * (length + 1):
        stream += sentence()
    return np.array(stream[: count * (length + 1)], np.float32).reshape(count, length + 1)


# ---- the model


def start_weights(width, layers, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return 0.02 * torch.randn(*shape, generator=generator)

    weights = {"word": normal(words, width), "place": normal(length, width), "head": normal(words, width)}
    for i in range(layers):
        for name, shape in [("query", (width, width)), ("key", (width, width)), ("value", (width, width)),
                            ("out", (width, width)), ("up", (4 * width, width)), ("down", (width, 4 * width))]:
            weights[f"{i}.{name}"] = normal(*shape)
    return weights


def layers_of(weights):
    return sum(name.endswith(".query") for name in weights)


def logits(weights, tokens):
    """Of the next word at each place: texts x places x words. Layer norms have no parameters."""
    (n, places), width = tokens.shape, weights["word"].shape[1]

    def norm(x):
        return F.layer_norm(x, (width,))

    def split(x):
        return x.view(n, places, heads, width // heads).transpose(1, 2)

    later = torch.full((places, places), float("-inf")).triu(1)
    x = weights["word"][tokens] + weights["place"][:places]
    for i in range(layers_of(weights)):
        h = norm(x)
        q, k, v = (split(h @ weights[f"{i}.{name}"].T) for name in ("query", "key", "value"))
        attention = torch.softmax(q @ k.transpose(2, 3) / (width // heads) ** 0.5 + later, -1) @ v
        x = x + attention.transpose(1, 2).reshape(n, places, width) @ weights[f"{i}.out"].T
        x = x + F.gelu(norm(x) @ weights[f"{i}.up"].T) @ weights[f"{i}.down"].T
    return norm(x) @ weights["head"].T


def text_losses(weights, texts):
    """Mean cross-entropy a word, of each text (texts x (length + 1) word numbers)."""
    texts = texts.long()
    found = logits(weights, texts[:, :-1])
    return F.cross_entropy(found.transpose(1, 2), texts[:, 1:], reduction="none").mean(1)


# ---- the loss for dpmpi


def shapes_of_adapters():
    last = layers_of(public) - 1
    adapted = [f"{last}.value", f"{last}.out", "head"]
    return {name: public[name].shape for name in adapted}


def dim(columns):
    if columns != length:
        raise ValueError(f"a text has {length} columns (with data.bias = 0), not {columns}")
    return sum(rows * rank for rows, _ in shapes_of_adapters().values())


def with_adapters(w):
    """The public weights plus B A for each adapted matrix; w holds the B, row by row."""
    weights, begin = dict(public), 0
    for name, (rows, _) in shapes_of_adapters().items():
        B = w[begin : begin + rows * rank].view(rows, rank)
        weights[name] = public[name] + B @ halves[name]
        begin += rows * rank
    return weights


def losses(w, X, y):
    with torch.no_grad():
        return text_losses(with_adapters(w), torch.cat([X, y[:, None]], 1))


def synthetic(count, columns):
    texts = text("public", count, 0)
    return texts[:, :-1], texts[:, -1]


def read_weights(file, digest):
    found = hashlib.sha256(open(file, "rb").read()).hexdigest()
    if found != digest:
        raise ValueError(f"{file} has the SHA-256 {found}, not {digest}")
    with np.load(file, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


if __name__ != "__main__":
    public = read_weights(*parameters.split())
    random_half = torch.Generator().manual_seed(1)
    halves = {name: torch.randn(rank, public[name].shape[1], generator=random_half) / public[name].shape[1] ** 0.5
              for name in shapes_of_adapters()}


# ---- the program


def pretrain(file, weights_file, width=64, layers=2):
    texts = torch.from_numpy(np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float32))
    texts = torch.cat([texts[:, 1:], texts[:, :1]], 1)  # the label stands first
    weights = {name: value.requires_grad_() for name, value in start_weights(width, layers).items()}
    optimiser = torch.optim.Adam(weights.values(), lr=1e-3)
    for step in range(400):
        rows = torch.randint(len(texts), (64,))
        loss = text_losses(weights, texts[rows]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.4f}", file=sys.stderr)
    np.savez(weights_file, **{name: value.detach().numpy() for name, value in weights.items()})
    print(weights_file, hashlib.sha256(open(weights_file, "rb").read()).hexdigest())


if __name__ == "__main__":
    torch.manual_seed(0)
    if sys.argv[1:2] == ["text"] and len(sys.argv) == 5:
        print(",".join(["last"] + [f"t{i}" for i in range(length)]))
        for row in text(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).astype(int):
            print(",".join(str(word) for word in [row[-1], *row[:-1]]))
    elif sys.argv[1:2] == ["pretrain"] and len(sys.argv) in (4, 6):
        pretrain(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    else:
        sys.exit(__doc__)
