"""load_model says in numpy what dpmpi predict says, of every model that has scores."""

import numpy as np

import dpmpi
from dpmpi.model.safetensors import read_model_file
from support import TINY_SADDLE, InFolder, records


class Models(InFolder):
    def arrays(self, X, y):
        np.save("x.npy", X)
        np.save("y.npy", np.asarray(y, float))
        return {"data.train": "x.npy,y.npy"}

    def same(self, X, y, settings, **base):
        run = self.train({**self.arrays(X, y), **settings}, **base)
        self.assert_same_scores(run, X, "x.npy", "data.label=none")
        return run

    def test_every_linear_loss(self):
        X = records()
        signs, numbers, counts = np.sign(X[:, 0]), X[:, 0] + 0.3, np.floor(np.abs(3 * X[:, 0]))
        losses = {"logistic": signs, "hinge": signs, "smoothed_hinge": signs, "sigmoid": signs, "ramp": signs,
                  "squared": numbers, "huber": numbers, "absolute": numbers, "pinball": numbers, "capped_l1": numbers,
                  "mallows": numbers, "poisson": counts}
        for name, y in losses.items():
            with self.subTest(name):
                run = self.same(X, y, {"objective.name": name})
                if name not in ("poisson", "huber", "hinge"):  # a count, a number, a sign
                    continue
                said = self.predicted(run, "x.npy", "data.label=none", ends="said.csv")
                own = run.model.predict(X)
                np.testing.assert_allclose(own, [float(row["prediction"]) for row in said], rtol=5e-6, atol=1e-6)

    def test_probabilities_and_thresholds_of_logistic_models(self):
        X = records()
        run = self.same(X, np.sign(X[:, 0]), {"objective.name": "logistic", "data.bias": 2.5})
        said = self.predicted(run, "x.npy", "data.label=none", ends="said.csv", more=["--threshold", "0.6"])
        probability = run.model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        np.testing.assert_allclose(probability[:, 1], [float(row["probability"]) for row in said], rtol=5e-6, atol=1e-6)
        self.assertEqual(run.model.predict(X, threshold=0.6).tolist(), [int(row["prediction"]) for row in said])
        self.assertNotEqual(run.model.predict(X, threshold=0.6).tolist(), run.model.predict(X).tolist())

    def test_class_weights_are_taken_from_logits(self):
        X = records()
        signs = self.same(X, np.sign(X[:, 0]), {"objective.name": "logistic", "objective.class_weights": "1:5,-1:1"})
        plain = signs.model.scores(X)
        self.assertEqual(plain.shape, (80, 1))
        self.same(X, np.digitize(X[:, 0], [-0.5, 0.5]),
                  {"objective.name": "softmax", "objective.classes": 3, "objective.class_weights": "0:3,2:0.5"})

    def test_large_softmax_models_differ_by_the_rounding_of_a_sum_of_float32(self):
        """The program's bits are those of that sum, feature after feature; and bytes are features as it has them."""
        draw = np.random.default_rng(3)
        pixels, y = draw.integers(0, 256, (80, 300)).astype(np.uint8), draw.integers(0, 4, 80)
        np.save("p.npy", pixels)
        np.save("py.npy", y)
        run = self.train({"data.train": "p.npy,py.npy", "data.scale": 1 / 255, "objective.name": "softmax",
                          "objective.classes": 4, "method.rate": 30})
        said, own = self.predicted(run, "p.npy", "data.label=none"), run.model.scores(pixels)
        tensors = read_model_file(run.path / "model.safetensors").tensors
        weight, bias = tensors["weight"], tensors["bias"].ravel()
        x = pixels.astype(np.float32) * np.float32(1 / 255)
        total = np.zeros(said.shape, np.float32)
        for j in range(x.shape[1]):  # products of float32 are exact in float64
            total = (total + np.multiply.outer(x[:, j], weight[:, j], dtype=np.float64)).astype(np.float32)
        self.assertEqual((total + bias).tolist(), said.tolist())
        sizes = x.astype(np.float64) @ np.abs(weight.T) + np.abs(bias)
        self.assertLess((np.abs(own - said) / sizes).max(), (x.shape[1] + 1) * 2.0**-24)
        self.assertEqual(own.tolist(), (x.astype(np.float64) @ weight.T.astype(np.float64) + bias).tolist())

    def test_perceptrons_of_every_head_and_activation(self):
        X = records()
        signs, classes = np.sign(X[:, 0]), np.digitize(X[:, 0], [-0.5, 0.5])
        for head, activation, y in (("logistic", "relu", signs), ("ramp", "leaky_relu", signs),
                                    ("squared", "tanh", X[:, 0]), ("absolute", "softplus", X[:, 0]),
                                    ("softmax", "tanh", classes)):
            with self.subTest(head):
                self.same(X, y, {"objective.name": "mlp", "objective.hidden": [7, 5], "objective.head": head,
                                 "objective.activation": activation, "data.bias": 0.5,
                                 "objective.classes": 3 if head == "softmax" else None})

    def test_a_linear_model_without_bias(self):
        X = records()
        self.same(X, np.digitize(X[:, 0], [0]), {"objective.name": "softmax", "objective.classes": 2, "data.bias": 0})

    def test_networks_of_every_layer(self):
        X = records(d=2 * 6 * 7)
        layers = ("conv 4 3x3 pad 1, relu, residual(conv 4 3 pad 1, groupnorm 2, gelu), maxpool 2 stride 1, "
                  "conv 6 2x3 stride 2, layernorm, avgpool 2x1 stride 1, leaky_relu, flatten, dense 9, softplus, "
                  "layernorm, residual(dense 9, tanh), dense 3")
        self.same(X, np.digitize(X[:, 0], [-0.5, 0.5]),
                  {"objective.name": "network", "objective.input": "2x6x7", "objective.layers": layers,
                   "objective.classes": 3})

    def test_layers_with_options(self):
        X = records(d=4 * 6 * 7)
        layers = ("conv 4 3x3 pad 1 groups 4, tanh, conv 6 2x3 stride 2 groups 2 standardised, dropout 0.2, relu, "
                  "flatten, dense 7 standardised, tanh, dense 3")
        self.same(X, np.digitize(X[:, 0], [-0.5, 0.5]),
                  {"objective.name": "network", "objective.input": "4x6x7", "objective.layers": layers,
                   "objective.classes": 3})

    def test_embeddings(self):
        X = records(d=8)
        X[:, 1:4], X[:, 5:7] = np.eye(3)[np.arange(len(X)) % 3], np.eye(2)[np.arange(len(X)) % 2]
        self.same(X, X[:, 0], {"objective.name": "network", "objective.head": "squared",
                               "objective.layers": "embedding 4 of 2-4 6-7, dense 6, tanh, dense 1"})

    def test_adapters_of_a_public_model(self):
        X = records(d=4 * 6 * 7)
        y = np.digitize(X[:, 0], [-0.5, 0.5])
        network = {"objective.name": "network", "objective.input": "4x6x7", "objective.classes": 3}
        public = self.same(X, y, {**network, "objective.layers": "conv 6 2x3, relu, flatten, dense 8, tanh, dense 3"})
        self.same(X, y, {**network, "objective.start_model": str(public.path / "model.safetensors"),
                         "objective.layers": "conv 6 2x3 adapter 1, relu, flatten, dense 8 adapter 2, tanh, dense 3"})

    def test_networks_of_lists_with_one_output(self):
        X = records()
        self.same(X, X[:, 0], {"objective.name": "network", "objective.layers": "dense 6, gelu, dense 1",
                               "objective.head": "squared"})

    def test_rankings(self):
        X = records()
        signs = np.sign(X[:, 0])
        for settings in ({}, {"objective.scorer": "mlp", "objective.hidden": [5]}, {"objective.output": "identity"},
                         {"objective.scorer": "network", "objective.layers": "dense 5, tanh, dense 1"}):
            with self.subTest(settings):
                run = self.same(X, signs, {"objective.name": "auc", "objective.prior": 0.5, **settings},
                                base=TINY_SADDLE)
                said = self.predicted(run, "x.npy", "data.label=none", ends="said.csv")
                self.assertEqual(run.model.predict(X).tolist(), [int(row["prediction"]) for row in said])

    def test_worst_groups_do_not_see_their_group(self):
        X = records()
        X[:, 1] = X[:, 1] > 0
        run = self.same(X, np.digitize(X[:, 0], [-0.5, 0.5]),
                        {"objective.name": "worst_group", "objective.classes": 3, "objective.group_feature": 2,
                         "objective.group_sizes": "40,40", "objective.hidden": [5],
                         "method.dual_clip": 1}, base=TINY_SADDLE)
        other = X.copy()
        other[:, 1] = 1 - other[:, 1]
        self.assertEqual(run.model.scores(other).tolist(), run.model.scores(X).tolist())

    def test_scales_of_all_features_and_records_of_length_one(self):
        X = records()
        self.same(X, X[:, 0], {"objective.name": "squared", "data.scale": 0.5, "data.mean": [0.1, 0.2, -0.3, 0],
                               "data.std": 2, "data.normalize": "l2"})
        self.same(X, X[:, 0], {"objective.name": "squared", "data.mean": "2:0.5,4:-1", "data.std": "1:3"})

    def test_images_in_bytes(self):
        X = np.random.default_rng(2).integers(0, 256, size=(80, 6), dtype=np.uint8)
        self.same(X, X[:, 0] > 128, {"objective.name": "logistic", "data.scale": 1 / 255})

    def test_scattering_of_images(self):
        for image, steps in (("1x12x16", "scattering J=2 L=3, groupnorm 4"), ("2x9x8", "scattering J=1 L=2")):
            with self.subTest(image):
                channels, height, width = map(int, image.split("x"))
                X = records(n=60, d=channels * height * width)
                self.same(X, X[:, 0] > 0, {"objective.name": "logistic", "data.image": image, "data.transform": steps,
                                           "data.scale": 0.5})

    def test_a_score_that_is_no_number_is_told(self):
        X = records()
        run = self.train({**self.arrays(X, np.sign(X[:, 0])), "objective.name": "logistic"})
        file = bytearray((run.path / "model.safetensors").read_bytes())
        file[-20:-16] = np.float32("nan").tobytes()
        (self.folder / "other.safetensors").write_bytes(file)
        predicted = dpmpi.load_model("other.safetensors").predict(X)
        self.assertTrue(np.isnan(predicted).all())
        said = self.predicted("other.safetensors", "x.npy", "data.label=none", ends="said.csv")
        self.assertEqual({row["prediction"] for row in said}, {"nan"})

    def test_means_have_distances(self):
        X = records()
        for bias in (0, 2):
            self.same(X, X[:, 0], {"objective.name": "mean", "data.bias": bias})

    def test_values_of_states(self):
        X = records(d=7)
        X[:, 6] = 0
        for value in ("linear", "mlp"):
            self.same(X, X[:, 0], {"objective.name": "td", "objective.value": value, "objective.hidden": 5,
                                   "method.dual_clip": 1, "method.dual_rate": 0.1}, base=TINY_SADDLE)

    def test_what_needs_more_than_a_model_file_is_refused_with_a_sentence(self):
        X = records()
        run = self.train({**self.arrays(X, X[:, 0]), "objective.name": "squared"})
        file = (run.path / "model.safetensors").read_bytes()
        (self.folder / "old.safetensors").write_bytes(file.replace(b'"recipe"', b'"tecipe"'))
        with self.assertRaisesRegex(dpmpi.DataError, "does not say how records are read .*use dpmpi predict"):
            dpmpi.load_model("old.safetensors")
        (self.folder / "new.safetensors").write_bytes(file.replace(b'"squared"', b'"cubed.."'))
        with self.assertRaisesRegex(dpmpi.DataError, "models of 'cubed..' are not known here"):
            dpmpi.load_model("new.safetensors")
