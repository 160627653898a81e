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
from dpmpi import _conventions, _leftovers
from dpmpi.estimators import FORCED_BY_PRIVACY, DPAUC, DPClassifier, DPRegressor
from support import InFolder, children_of, is_running, records

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

    def test_that_are_stopped_go_on_where_a_run_was_asked_for(self):
        X, y = separable(200)
        settings = {**ENDLESS, "method.epochs": 3, "privacy.seed": 5, "run.max_hours": 1e-9}
        with self.assertRaisesRegex(dpmpi.Stopped, "gone with its private folder; with run_dir= it would") as caught:
            DPClassifier(settings=settings).fit(X, y)
        self.assertNotIn(str(self.folder), str(caught.exception))
        model = DPClassifier(settings=settings, run_dir="kept")
        with self.assertRaisesRegex(dpmpi.Stopped, r"a checkpoint in kept: resume_fit\(X, y\) on the same") as caught:
            model.fit(X, y)
        self.assertNotIn("private/", str(caught.exception))
        settings["run.max_hours"] = 0
        with self.assertRaisesRegex(dpmpi.DataError, "are not those that the run in .*kept began with"):
            model.resume_fit(X + 1, y)
        model.resume_fit(X, y)
        self.assertTrue(model.run_.finished)
        whole = DPClassifier(settings=settings).fit(X, y)
        self.assertEqual(model.decision_function(X).tolist(), whole.decision_function(X).tolist())
        with self.assertRaisesRegex(dpmpi.ConfigError, "finished"):
            model.resume_fit(X, y)
        with self.assertRaisesRegex(ValueError, "needs the run_dir"):
            whole.resume_fit(X, y)
        self.assertEqual(os.listdir("private"), [])

    def test_that_are_interrupted_say_what_is_left(self):
        """Ctrl-C in a process of its own, in front of the program's word."""
        program = ("import numpy as np, dpmpi; X = np.random.default_rng(0).normal(size=(200, 3)); "
                   f"dpmpi.DPClassifier(prepare='none', settings={ENDLESS}, run_dir=RUN).fit(X, X[:, 0] > 0)")
        for run_dir, says in ((None, "KeyboardInterrupt: fit was stopped, and all that it had trained is gone"),
                              ("mine", "KeyboardInterrupt: fit was stopped with a checkpoint in mine: resume_fit")):
            child = subprocess.Popen([sys.executable, "-c", program.replace("RUN", repr(run_dir))], text=True,
                                     stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
            ledger = "ledger.jsonl" if run_dir else "*/run/ledger.jsonl"
            self.wait_for(lambda: any(b"poisson" in path.read_bytes()
                                      for path in Path(run_dir or "private").glob(ledger)))
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            self.assertIn(says, child.communicate(timeout=60)[1])

    def test_leave_no_record_and_no_process_after_sigkill(self):
        """A shell tidies up. Where it was killed as well, the next use does: here a folder of the same name."""
        program = ("import numpy as np, dpmpi, threading; X = np.random.default_rng(0).normal(size=(200, 3)); "
                   f"model = dpmpi.DPClassifier(prepare='none', settings={ENDLESS}); "
                   "threading.Thread(target=model.fit, args=(X, X[:, 0] > 0)).start()")
        children = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL,
                                     env={**os.environ, "PYTHONPATH": str(PACKAGE)}) for _ in range(2)]
        self.wait_for(lambda: len(list(Path("private").glob("*/run/ledger.jsonl"))) == 2)
        killed, lives = (next(Path("private").glob(f"dpmpi-*-{child.pid}-*/run")).parent for child in children)
        started = children_of(children[0].pid)
        self.assertGreater(len(started), 1)
        children[0].kill()
        children[0].wait()
        self.wait_for(lambda: not killed.exists() and not any(map(is_running, started)))
        self.assertTrue(lives.is_dir())
        killed.mkdir(mode=0o700)
        others = self.folders_that_are_not_left_over(killed.name)
        dpmpi.account([{"event": "gaussian", "noise_multiplier": 1, "count": 1}], delta=1e-5)
        self.assertTrue(killed.is_dir(), "account uses no folder")
        with self.assertRaises(dpmpi.ConfigError):
            dpmpi.plan({"method.bacth": 1})
        left = {path.name for path in Path("private").iterdir()}
        self.assertLessEqual({lives.name, *others}, left)
        self.assertNotIn(killed.name, left)
        children[1].kill()
        children[1].wait()
        self.wait_for(lambda: not lives.exists())

    def folders_that_are_not_left_over(self, name):
        """Of another machine, of a process that lives, no folder, open to others, and names that say nothing."""
        machine, process, start = name.split("-")[1:4]
        living = _leftovers.prefix_of_this_process()
        names = [f"dpmpi-{'0' * 12}-{process}-{start}-a", f"{living}b", f"dpmpi-{machine}-{process}-{start}-link",
                 f"dpmpi-{machine}-{process}-{start}-file", f"dpmpi-{machine}-{process}-{start}-open", "dpmpi-x"]
        for name in names:
            path = Path("private") / name
            if name.endswith("link"):
                path.symlink_to(self.folder)
            elif name.endswith("file"):
                path.write_text("")
            else:
                path.mkdir()
                path.chmod(0o755 if name.endswith("open") else 0o700)
        return names

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
        for ends, problem in (((1, 0), "lower end must be below"), ((-1e308, 1e308), "by less than"),
                              ((0, np.inf), "two finite numbers"), ((np.nan, 1), "two finite numbers"),
                              ((1, 2, 3), "two finite numbers"), (("a", "b"), "two finite numbers"),
                              (5, "two finite numbers")):
            with self.subTest(ends), self.assertRaisesRegex(ValueError, problem):
                DPRegressor(y_range=ends).fit(X, X[:, 0])
        for numbers in (DPRegressor(y_range=(0, 1)), DPRegressor()):
            with self.assertRaisesRegex(ValueError, "a text that is no number"):
                numbers.fit(X, np.array(["well", "ill"] * 50))
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


class ByTheTagsOfScikitLearn16(InFolder):
    """A stand-in for its classes, for it may not be here: tags are objects, and validate_data is a function."""

    MODULES = {
        "__init__": "",
        "base": """
from types import SimpleNamespace as Tags

class BaseEstimator:
    def __sklearn_tags__(self):
        return Tags(estimator_type=None, classifier_tags=None, regressor_tags=None, non_deterministic=False)

class ClassifierMixin:
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", Tags(poor_score=False, multi_class=True)
        return tags

class RegressorMixin:
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", Tags(poor_score=False)
        return tags
""",
        "exceptions": "class NotFittedError(ValueError, AttributeError): pass",
        "utils/__init__": "",
        "utils/multiclass": "def check_classification_targets(y): pass",
        "utils/validation": """
def validate_data(estimator, X, *y, dtype, reset, y_numeric=False):
    estimator.n_features_in_ = X.shape[1]
    return (X, *y) if y else X
"""}

    def test_estimators_say_what_they_are_and_train(self):
        for name, text in self.MODULES.items():
            Path(f"stub/sklearn/{name}.py").parent.mkdir(parents=True, exist_ok=True)
            Path(f"stub/sklearn/{name}.py").write_text(text)
        program = """
import numpy as np, dpmpi
from dpmpi import _conventions
assert _conventions.HAS_SKLEARN
for kind in ("DPClassifier", "DPAUC", "DPRegressor"):
    tags = getattr(dpmpi, kind)().__sklearn_tags__()
    own = tags.classifier_tags or tags.regressor_tags
    print(kind, tags.estimator_type, tags.non_deterministic, own.poor_score, getattr(own, "multi_class", None))
X = np.random.default_rng(0).normal(size=(100, 3))
dpmpi.DPClassifier(settings={"privacy.accountant": "rdp", "method.epochs": 1}).fit(X, X[:, 0] > 0).predict(X)
"""
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{self.folder}/stub"})
        self.assertEqual(done.stdout, "DPClassifier classifier True True True\nDPAUC classifier True True False\n"
                                      "DPRegressor regressor True True None\n")


@unittest.skipUnless(_conventions.HAS_SKLEARN, "skipped: no scikit-learn for this python3")
class ByScikitLearn(unittest.TestCase):
    def test_check_estimator_passes_but_for_what_privacy_forces(self):
        skipped = set()
        for estimator in (DPClassifier(settings=QUICK), DPRegressor(prepare="none", settings=QUICK),
                          DPAUC(settings=QUICK)):
            for one, check in checks_of(estimator):
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


def checks_of(estimator):
    """Pairs of an estimator and a check, which is skipped where the estimator cannot pass."""
    from sklearn.utils import estimator_checks

    if hasattr(estimator_checks, "estimator_checks_generator"):  # 1.6 and later
        return estimator_checks.estimator_checks_generator(estimator, expected_failed_checks=FORCED_BY_PRIVACY,
                                                           mark="skip")
    return estimator_checks.check_estimator(estimator, generate_only=True)


def warnings_off():
    import warnings

    return warnings.catch_warnings() if sys.version_info < (3, 11) else warnings.catch_warnings(action="ignore")
