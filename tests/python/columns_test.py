"""Tables: columns by name, words, gaps, dates and numbers become the features that the program makes of them."""

import datetime
import os
import subprocess

import numpy as np

import dpmpi
from dpmpi.model.columns_file import read_columns_file
from dpmpi.model.features import features_of
from dpmpi.model.recipe import Recipe
from dpmpi.model.table import table_of
from support import InFolder, records

COLUMNS = '''# of patients
age             number    range=0..110 mean=50 std=20 missing=NULL impute=50 indicator
weight          number    range=40..120
sex             category  words=f,m other
ward            category  words="A, east","say ""B""",
                                C missing=?,"" impute=C rare=C,"A, east" indicator
stage           ordinal   words=I,II,III,IV missing=- indicator
smoker          yes/no    true=yes,y false=no missing=NULL,unknown impute=no
married         yes/no
"admitted on"   date      format=%d.%m.%Y from=2015-01-01 unit=years impute=01.07.2016 indicator
seen            date      format="%Y-%m-%d %H:%M" from=2015-01-01 unit=months
comment         ignore
patient         person
days            label
stay            exposure  range=0.5..30 impute=1.5
'''
NAMES = ["age", "weight", "sex", "ward", "stage", "smoker", "married", "admitted on", "seen", "comment", "patient",
         "days", "stay"]


class Columns(InFolder):
    def patients(self, n=60):
        """The fields as they stand in the file, in the order of NAMES."""
        draw = np.random.default_rng(3)

        def pick(*words):
            return [words[i] for i in draw.integers(0, len(words), n)]

        return [pick("17", "50.5", "NULL", "200", "1e1", "+3"), pick("40", "55.25", "130"), pick("f", "m", "x", "y z"),
                pick("A, east", 'say "B"', "C", "?", ""), pick("I", "II", "III", "IV", "-"),
                pick("yes", "y", "no", "unknown"), pick("true", "0", "1", "no"),
                pick("31.01.2015", "1.12.2019", "NA", "29.02.2016"), pick("2016-03-01 05:30", "2014-12-31 23:59"),
                pick("a", "b,c"), [str(i) for i in range(n)], pick("0", "1", "2", "4"), pick("0.25", "2", "NA", "99")]

    def trained(self, fields):
        with open("columns.txt", "w") as file:
            file.write(COLUMNS)
        self.write_table("train.csv", NAMES, fields)
        return self.train({"data.train": "train.csv", "data.columns": "columns.txt", "data.header": "yes",
                           "objective.name": "poisson"})

    def test_of_every_kind_are_read_as_the_program_reads_them(self):
        fields = self.patients()
        run = self.trained(fields)
        table = dict(zip(NAMES, fields))
        with_exposure = self.assert_same_scores(run, table, "train.csv")
        said = self.predicted(run, "train.csv", ends="said.csv")
        counts = [float(row["prediction"]) for row in said]
        np.testing.assert_allclose(run.model.predict(table), counts, rtol=5e-6, atol=1e-6)
        # Rates, where there is no exposure; in another order, and beside columns that nobody knows.
        rates = {name: table[name] for name in reversed(NAMES) if name not in ("days", "stay", "patient")}
        rates["more"] = rates["sex"]
        self.write_table("rates.csv", rates.keys(), rates.values())
        without = self.assert_same_scores(run, rates, "rates.csv", "data.label=none")
        self.assertGreater(np.abs(with_exposure - without).max(), 0.1)

    def test_come_from_anything_that_has_columns(self):
        fields = self.patients()
        run = self.trained(fields)
        table = dict(zip(NAMES, fields))
        expected = run.model.scores(table).tolist()
        needed = [name for name in NAMES if name not in ("comment", "patient", "days")]

        class Frame:
            """As data frames of several libraries have them."""
            columns = needed

            def __getitem__(self, name):
                return np.array(table[name], dtype=object)

        self.assertEqual(run.model.scores(Frame()).tolist(), expected)
        structured = np.array(list(zip(*(table[name] for name in needed))), dtype=[(name, "U20") for name in needed])
        self.assertEqual(run.model.scores(structured).tolist(), expected)
        by_place = np.array([table[name] for name in needed], dtype=object).T
        self.assertEqual(run.model.scores(by_place).tolist(), expected)

    def test_of_pandas_have_the_same_scores(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("skipped: no pandas")
        fields = self.patients()
        run = self.trained(fields)
        frame = pandas.DataFrame(dict(zip(NAMES, fields)))
        self.assertEqual(run.model.scores(frame).tolist(), run.model.scores(dict(zip(NAMES, fields))).tolist())

    def test_have_numbers_dates_and_truth_values_of_python(self):
        fields = self.patients()
        run = self.trained(fields)
        table = dict(zip(NAMES, fields))
        typed = dict(table)
        typed["age"] = [np.nan if x == "NULL" else float(x) for x in table["age"]]
        typed["weight"] = np.array(table["weight"], float)
        typed["ward"] = [None if x in ("?", "") else x for x in table["ward"]]
        typed["married"] = np.array([x in ("true", "1") for x in table["married"]])
        days = [None if x == "NA" else datetime.datetime.strptime(x, "%d.%m.%Y") for x in table["admitted on"]]
        typed["admitted on"] = np.array(days, "datetime64[D]")
        typed["seen"] = [datetime.datetime.strptime(x, "%Y-%m-%d %H:%M") for x in table["seen"]]
        typed["stay"] = np.array([np.nan if x == "NA" else float(x) for x in table["stay"]])
        np.testing.assert_allclose(run.model.scores(typed), run.model.scores(table), rtol=1e-12)

    def test_that_are_wrong_are_told_without_a_value(self):
        fields = self.patients()
        run = self.trained(fields)
        for name, value, problem in (("weight", "SECRET", "'weight': a value is not a finite number"),
                                     ("stage", "SECRET", "'stage': a value is none of its words"),
                                     ("seen", "31.31.3131", "'seen': a value is not a date of the calendar"),
                                     ("married", "", "'married': a value is missing"),
                                     ("weight", None, "'weight': a value is missing")):
            table = dict(zip(NAMES, fields))
            table[name] = [value, *table[name][1:]]
            with self.subTest(name), self.assertRaisesRegex(dpmpi.DataError, problem) as caught:
                run.model.predict(table)
            self.assertNotIn("SECRET", str(caught.exception))
        with self.assertRaisesRegex(dpmpi.DataError, "columns that the table has not: 'age', 'sex'"):
            run.model.predict({name: field for name, field in zip(NAMES, fields) if name not in ("age", "sex")})

    def test_that_were_prepared_in_private(self):
        X = records(n=300) * [1, 20, 300, 1] + 5
        self.write_table("train.csv", ["a", "b", "c", "d", "y"], [*X.T.tolist(), np.sign(X[:, 0] - 5).tolist()])
        with open("columns.txt", "w") as file:
            file.write("a number\nb number\nc number indicator\nd number mean=5\ny label\n")
        run = self.train({"data.train": "train.csv", "data.columns": "columns.txt", "data.header": "yes",
                          "data.prepare": "private", "objective.name": "logistic", "privacy.noise_multiplier": None,
                          "privacy.epsilon": 5})
        self.assert_same_scores(run, dict(zip("abcd", X.T)), "train.csv")

    def test_with_decimal_commas_and_classes_with_names(self):
        X = records()
        words = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
        numbers = [[str(round(x, 3)).replace(".", ",") for x in column] for column in X.T]
        self.write_table("train.csv", ["a", "b", "c", "d", "size"], [*numbers, words], delimiter=";")
        with open("columns.txt", "w") as file:
            file.write("a number\nb number range=-1..1\nc number\nd number\nsize label classes=low,middle,high\n")
        run = self.train({"data.train": "train.csv", "data.columns": "columns.txt", "data.header": "yes",
                          "data.separator": "semicolon", "data.decimal": "comma", "objective.name": "softmax",
                          "objective.classes": 3, "objective.class_weights": "high:4"})
        table = dict(zip("abcd", numbers))
        self.assert_same_scores(run, table, "train.csv")
        said = self.predicted(run, "train.csv", ends="said.csv")
        self.assertEqual(run.model.classes_.tolist(), ["low", "middle", "high"])
        self.assertEqual(run.model.predict(table).tolist(), [row["prediction"] for row in said])
        np.testing.assert_allclose(run.model.predict_proba(table)[:, 2],
                                   [float(row["probability_high"]) for row in said], rtol=5e-6, atol=1e-6)


class Settings(InFolder):
    def table(self, n=80):
        X = records(n)
        draw = np.random.default_rng(5)
        sector = np.array(["office", "farm", "care"])[draw.integers(0, 3, n)]
        age = [str(round(x, 2)) if i % 7 else "NA" for i, x in enumerate(X[:, 0])]
        label = np.where(X[:, 1] > 0, "high", "low")
        return {"age": age, "id": [str(i) for i in range(n)], "sector": sector, "hours": X[:, 2].round(3), "pay": label}

    def trained(self, table, **settings):
        self.write_table("train.csv", table.keys(), table.values())
        return self.train({"data.train": "train.csv", "data.header": "yes", "data.label": "pay", "data.drop": "id",
                           "data.positive": "high", "data.one_hot": "sector:office|farm", "data.unknown": "zero",
                           "data.mean": "age:1.5", "data.std": "hours:2,age:0.5", "data.missing": 0.25,
                           "objective.name": "logistic", **settings})

    def test_of_a_config_make_features_by_name(self):
        table = self.table()
        run = self.trained(table)
        self.assert_same_scores(run, table, "train.csv")
        without = {name: values for name, values in table.items() if name != "pay"}
        self.assertEqual(run.model.scores(without).tolist(), run.model.scores(table).tolist())
        by_place = np.array(list(table.values()), dtype=object).T
        with self.assertRaises(dpmpi.DataError):
            run.model.scores(by_place)  # the settings name columns

    def test_with_weights_of_words_shift_the_scores(self):
        table = self.table()
        plain = self.trained(table, **{"objective.class_weights": "high:13, low:1"})
        self.assert_same_scores(plain, table, "train.csv")

    def test_by_numbers_of_columns(self):
        table = self.table()
        run = self.trained(table, **{"data.label": "5", "data.drop": "2", "data.one_hot": "3:office|farm|care",
                                     "data.unknown": "error", "data.mean": "1:1.5", "data.std": None})
        by_place = np.array(list(table.values()), dtype=object).T
        self.assert_same_scores(run, by_place, "train.csv")
        self.assertEqual(run.model.scores(by_place[:, :4]).tolist(), run.model.scores(by_place).tolist())
        table["sector"][3] = "SECRET"
        with self.assertRaisesRegex(dpmpi.DataError, "'sector': a value is not in its vocabulary") as caught:
            run.model.scores(table)
        self.assertNotIn("SECRET", str(caught.exception))


class Datasets(InFolder):
    def test_of_hdf5_go_by_their_names_in_the_order_of_the_config(self):
        X = records(80)
        self.write_table("t.csv", ["b", "a", "y"], [X[:, 0], X[:, 1], np.sign(X[:, 0])])
        base = {"data.label": "y", "data.header": "yes"}
        convert = ["convert", "t.csv", "t.h5", *(f"--set={key}={value}" for key, value in base.items())]
        subprocess.run([os.environ["DPMPI"], *convert], check=True, stdout=subprocess.DEVNULL)
        run = self.train({"data.train": "t.h5", "objective.name": "logistic", "data.mean": "2:0.5"})
        self.assert_same_scores(run, X[:, :2], "t.h5")
        recipe = Recipe("logistic", {"data.datasets": "b, a", "data.label": "y"}, 2)
        made = features_of(recipe, table_of({"a": X[:, 1], "more": X[:, 2], "b": X[:, 0], "y": X[:, 3]}))
        np.testing.assert_array_equal(made.features, X[:, :2].astype(np.float32))


class Lines(InFolder):
    def test_go_on_behind_commas_and_end_where_a_column_begins(self):
        rules = read_columns_file('\ufeffa category words=x,\n  # not a word\n\n  "y z",w other\r\n'
                                  '"b ""c""" number # d\ne category words=p,\nf number range=-1..2.5\n')
        self.assertEqual([rule.name for rule in rules], ["a", 'b "c"', "e", "f"])
        self.assertEqual(rules[0].words("words"), ["x", "y z", "w"])
        self.assertTrue(rules[0].has("other"))
        self.assertEqual(rules[3].range, (-1, 2.5))
