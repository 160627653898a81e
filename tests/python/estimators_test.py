"""DPClassifier, DPRegressor and DPAUC: scikit-learn's conventions, one promise a fit, and nothing left on disk."""

import os
import pickle
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import dpmpi
from dpmpi import _conventions
from dpmpi.estimators import FORCED_BY_PRIVACY, DPAUC, DPClassifier, DPRegressor
from support import InFolder, records

QUICK = {"privacy.accountant": "rdp", "method.epochs": 1}
ENDLESS = {"privacy.accountant": "rdp", "privacy.epsilon": None, "privacy.noise_multiplier": 1, "method.batch": 20,
           "method.epochs": 1000000, "method.clip": 1, "method.rate": 1, "method.momentum": 0,
           "method.schedule": "constant"}
PACKAGE = Path(dpmpi.__file__).resolve().parents[1]


def separable(n=600, seed=1):
    """Columns of different sizes, and words that follow from them."""
    X = records(n, 3, seed) * [1, 20, 300] + [0, 50, 1000]
    return X, np.where(X[:, 0] + (X[:, 1] - 50) / 20 > 0, "yes", "no")


class Estimators(InFolder):
    def setUp(self):
        super().setUp()
        os.mkdir("private")
        patch = mock.patch.dict(os.environ, DPMPI_PRIVATE_FOLDER=str(self.folder / "private"))
        patch.start()
        self.addCleanup(patch.stop)

    def test_learn_classes_of_unscaled_columns(self):
        X, y = separable()
        model = DPClassifier(epsilon=8).fit(X, y)
        new, truth = separable(seed=2)
        self.assertGreater(model.score(new, truth), 0.9)
        self.assertEqual(model.classes_.tolist(), ["no", "yes"])
        self.assertEqual(model.predict_proba(new).shape, (600, 2))
        self.assertLessEqual(model.epsilon_, 8)
        self.assertAlmostEqual(model.delta_, 600**-1.1)
        self.assertEqual(model.certificate_["n"], 600)

    def test_learn_several_classes_by_a_perceptron_too(self):
        X = records(1500)
        y = np.digitize(X[:, 0], [-0.5, 0.5]) * 10
        for hidden in ((), (8,)):
            model = DPClassifier(epsilon=20, hidden=hidden, prepare="none",
                                 settings={"privacy.accountant": "rdp"}).fit(X, y)
            self.assertEqual(set(model.predict(X)), {0, 10, 20})
            self.assertGreater(model.score(X, y), 0.75)
            np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_learn_numbers_of_a_public_range(self):
        X, _ = separable()
        y = 1000 + 30 * X[:, 0] + X[:, 1]
        for settings in ({}, {"loss": "huber"}, {"hidden": (8,)}):
            model = DPRegressor(epsilon=20, y_range=(950, 1150), settings={"privacy.accountant": "rdp"}, **settings)
            self.assertGreater(model.fit(X, y).score(X, y), 0.6, settings)

    def test_learn_rankings(self):
        X = records(1000)
        y = (X[:, 0] > 1).astype(int)
        for prior in (None, 0.16):
            model = DPAUC(epsilon=8, prior=prior, settings={"privacy.accountant": "rdp"}).fit(X, y)
            scores = model.decision_function(X)
            positive, negative = scores[y == 1], scores[y == 0]
            self.assertGreater((positive[:, None] > negative[None, :]).mean(), 0.9)
            self.assertEqual(set(model.predict(X)), {0, 1})

    def test_keep_nothing_on_disk_but_a_run_that_was_asked_for(self):
        X, y = separable(100)
        DPClassifier(settings=QUICK).fit(X, y)
        with self.assertRaises(dpmpi.ConfigError):
            DPClassifier(settings={"method.bacth": 1}).fit(X, y)
        self.assertEqual(os.listdir("private"), [])
        self.assertEqual(os.listdir("."), ["private"])
        model = DPClassifier(settings=QUICK, run_dir="kept").fit(X, y)
        self.assertEqual(os.listdir("private"), [])
        self.assertEqual(model.run_.path, self.folder / "kept")
        self.assertTrue(dpmpi.verify("kept")["verified"])
        held = [file.read_bytes() for file in Path("kept").rglob("*") if file.is_file()]
        self.assertFalse(any(repr(float(X[0, 2])).encode() in content or X[0].tobytes() in content
                             for content in held))

    def test_take_their_data_away_when_they_are_interrupted(self):
        program = ("import numpy as np, dpmpi; X = np.random.default_rng(0).normal(size=(200, 3)); "
                   f"dpmpi.DPClassifier(prepare='none', settings={ENDLESS}).fit(X, X[:, 0] > 0)")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL,
                                     env={**os.environ, "PYTHONPATH": str(PACKAGE)})
            end = time.time() + 60
            while not list(Path("private").glob("*/run/ledger.jsonl")):
                self.assertLess(time.time(), end, "nothing happened")
                self.assertIsNone(child.poll(), "it ended by itself")
                time.sleep(0.05)
            folder = next(Path("private").iterdir())
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
            child.send_signal(number)
            self.assertNotEqual(child.wait(timeout=60), 0)
            self.assertEqual(os.listdir("private"), [])

    def test_quote_no_value_of_a_record(self):
        X, _ = separable(50)
        table = {"a": X[:, 0]}
        for make in (lambda: DPRegressor(columns=["a number"]).fit(table, ["1", "Mrs Smith"] * 25),
                     lambda: DPRegressor().fit(X, ["1", "Mrs Smith"] * 25),
                     lambda: DPRegressor().fit(X, np.full(50, 4711 + 1j)),
                     lambda: DPClassifier().fit(X + 4711j, [0, 1] * 25),
                     lambda: DPClassifier(columns=["a number"]).fit(table, [4711.0, np.nan] * 25)):
            with self.assertRaises(ValueError) as caught:
                make()
            told = f"{caught.exception!r} {caught.exception.__context__!r}"
            self.assertNotIn("Smith", told)
            self.assertNotIn("4711", told)

    def test_a_prior_of_0_is_not_taken_for_none(self):
        X, y = separable(50)
        with self.assertRaises(dpmpi.ConfigError):
            DPAUC(prior=0.0).fit(X, y)

    def test_take_public_classes_that_no_record_has(self):
        X, y = separable(100)
        model = DPClassifier(classes=["yes", "no", "perhaps"], settings=QUICK).fit(X, y)
        self.assertEqual(model.classes_.tolist(), ["yes", "no", "perhaps"])
        self.assertEqual(model.predict_proba(X).shape, (100, 3))
        DPClassifier(classes=["no", "yes"], settings=QUICK).fit(X[y == "yes"], y[y == "yes"])
        with self.assertRaisesRegex(ValueError, "1 labels that are none of classes") as caught:
            DPClassifier(classes=["no", "other"]).fit(X, y)
        self.assertNotIn("'yes'", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "one class alone"):
            DPClassifier().fit(X[y == "yes"], y[y == "yes"])

    def test_are_copied_and_kept_as_they_are(self):
        X, y = separable(100)
        model = DPClassifier(settings=QUICK).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual(again.predict_proba(X).tolist(), model.predict_proba(X).tolist())

    def test_learn_tables_by_the_names_of_their_columns(self):
        draw = np.random.default_rng(4)
        n = 800
        ward, day = draw.choice(["east", "west", None], n), draw.integers(0, 3000, n).astype("datetime64[D]")
        age = np.where(draw.random(n) < 0.1, np.nan, draw.uniform(20, 80, n))
        table = {"note": draw.choice(["a,b", '"'], n), "ward": ward, "age": age, "smokes": draw.random(n) < 0.5,
                 "seen": day, "children": draw.choice([0, 1, np.nan], n), "label": draw.random(n)}
        sick = np.where((ward == "east") ^ (np.nan_to_num(age, nan=50) > 50), "sick", "well")
        columns = ["ward category words=east,west indicator", "age number indicator", "smokes yes/no",
                   "seen date format=%d.%m.%Y from=1974-01-01 unit=years", "note ignore",
                   "children ordinal words=0,1 impute=0"]
        Path("columns.txt").write_text("\n".join(columns))
        for given in (columns, "columns.txt"):
            model = DPClassifier(epsilon=20, hidden=(16,), columns=given, settings={"privacy.accountant": "rdp"})
            self.assertGreater(model.fit(table, sick).score(table, sick), 0.8)
        self.assertEqual(os.listdir("private"), [])
        self.assertEqual(model.predict_proba({**table, "more": age}).tolist(), model.predict_proba(table).tolist())
        for wrong, problem in (({"columns": [*columns, "y label"]}, "leave the line out"),
                               ({"columns": ["weight number"]}, "the table has not: 'weight'"),
                               ({"columns": ["age number"], "prepare": "none"}, "missing value")):
            with self.assertRaisesRegex(ValueError, problem):
                DPClassifier(**wrong).fit(table, sick)

    def test_train_on_ranks(self):
        X, y = separable(100)
        self.assertEqual(DPClassifier(ranks=2, settings=QUICK).fit(X, y).certificate_["n"], 100)

    def test_refuse_what_they_do_not_know(self):
        X, y = separable(100)
        for wrong in ({"prepare": "minmax"}, {"epsilon": -1}, {"settings": {"method.epochs": "many"}}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                DPClassifier(**wrong).fit(X, y)
        with self.assertRaisesRegex(ValueError, "lower end must be below"):
            DPRegressor(y_range=(1, 0)).fit(X, X[:, 0])
        words = X.astype(str).astype(object)
        words[3, 1] = "SECRET"
        with self.assertRaisesRegex(ValueError, "a text that is no number") as caught:
            DPClassifier().fit(words, y)
        self.assertNotIn("SECRET", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "Only binary classification"):
            DPAUC().fit(X, np.arange(100) % 3)


class WithoutScikitLearn(InFolder):
    def test_estimators_work_alike(self):
        """In a process that cannot import it."""
        program = """
import sys
sys.modules["sklearn"] = None
import numpy as np, dpmpi
from dpmpi import _conventions
assert not _conventions.HAS_SKLEARN
X = np.random.default_rng(0).normal(size=(200, 3)); y = X[:, 0] > 0
model = dpmpi.DPClassifier(epsilon=8, settings={"privacy.accountant": "rdp"})
assert model.get_params()["epsilon"] == 8 and repr(model).startswith("DPClassifier(epsilon=8, delta=None, hidden=()")
try:
    model.predict(X); raise SystemExit("predict before fit")
except ValueError as error:
    assert "call fit first" in str(error), error
assert model.fit(X, y).score(X, y) > 0.8
for wrong in (lambda: model.fit(X[:, 0], y), lambda: model.fit(X * np.nan, y), lambda: model.fit(X, y[:-1]),
              lambda: model.predict(X[:, :2]), lambda: model.set_params(espilon=1)):
    try:
        wrong(); raise SystemExit("taken")
    except ValueError:
        pass
number = dpmpi.DPRegressor(epsilon=8, settings={"privacy.accountant": "rdp"}).set_params(y_range=(-2, 2))
assert number.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5
"""
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


@unittest.skipUnless(_conventions.HAS_SKLEARN, "skipped: no scikit-learn for this python3")
class ByScikitLearn(unittest.TestCase):
    def test_check_estimator_passes_but_for_what_privacy_forces(self):
        from sklearn.utils.estimator_checks import check_estimator

        skipped = set()
        for estimator in (DPClassifier(settings=QUICK), DPRegressor(prepare="none", settings=QUICK),
                          DPAUC(settings=QUICK)):
            for one, check in check_estimator(estimator, generate_only=True):
                name = getattr(check, "func", check).__name__
                with self.subTest(f"{type(estimator).__name__}: {name}"), warnings_off():
                    try:
                        check(one)
                    except unittest.SkipTest:
                        skipped.add(name)
        self.assertEqual(skipped, {*FORCED_BY_PRIVACY, "check_pipeline_consistency"})

    def test_the_guide_lists_these_exceptions(self):
        guide = (PACKAGE.parent / "docs/guide/python.md").read_text()
        for name in FORCED_BY_PRIVACY:
            self.assertIn(f"`{name}`", guide)


def warnings_off():
    import warnings

    return warnings.catch_warnings() if sys.version_info < (3, 11) else warnings.catch_warnings(action="ignore")
