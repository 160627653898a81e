"""Run directories and model files of somebody else: nothing of them is imported, run or believed."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

import dpmpi
from support import InFolder, records

PACKAGE = Path(dpmpi.__file__).resolve().parents[1]
MARK = "import pathlib; pathlib.Path({!r}).write_text('run')\n"


class OfSomebodyElse(InFolder):
    def setUp(self):
        super().setUp()
        X = records()
        np.save("x.npy", X)
        np.save("y.npy", X[:, 0])
        self.run_ = self.train({"data.train": "x.npy,y.npy", "objective.name": "squared"})
        self.file = (self.run_.path / "model.safetensors").read_bytes()

    def test_metrics_that_no_run_writes_are_an_error_soon(self):
        file = self.run_.path / "metrics.jsonl"
        for text in ("".join(f'{{"step": {i}, "n{i}": 1}}\n' for i in range(12_000)), '{"eval.loss": 1}\n',
                     '{"step": 1e999}\n', f'{{"step": {2**70}}}\n'):
            file.write_text(text)
            with self.assertRaisesRegex(dpmpi.DataError, "what no run writes"):
                self.run_.metrics
        file.write_text(f'{{"step": 1, "eval.loss": {"9" * 400}, "epsilon": 1}}\n')
        self.assertEqual(sorted(self.run_.metrics), ["epsilon", "step"])

    def test_run_directories_are_read_and_nothing_of_them_is_run(self):
        """Modules with the names of those that are imported stand in the run, and in its config."""
        mark = self.folder / "mark"
        for name in ("numpy", "json", "pickle", "sklearn", "dpmpi", "sitecustomize", "os"):
            (self.run_.path / f"{name}.py").write_text(MARK.format(str(mark)))
        (self.run_.path / "config.ini").write_text(f"[objective]\nlibrary = {self.run_.path}/numpy.py\n")
        program = ("import sys; import dpmpi; r = dpmpi.Run(sys.argv[1]); r.metrics, r.ledger, r.certificate, r.plan; "
                   "r.model.predict([[1, 2, 3, 4]]); print([m for m in sys.modules if 'pickle' in m and '_' not in m])")
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        for argument in (str(self.run_.path), "runs/python"):
            done = subprocess.run([sys.executable, "-c", program, argument], env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertFalse(mark.exists())

    def test_names_are_paths_and_never_modules_or_options(self):
        for name in ("os", "numpy", "--help", "--json", "http://localhost/run", "__main__", "a\nb"):
            for read in (dpmpi.Run, dpmpi.load_model, dpmpi.verify, dpmpi.evaluate,
                         lambda run: dpmpi.resume(run, ranks=1, show=False)):
                with self.subTest(name, read=read), self.assertRaises(dpmpi.Error):
                    read(name)

    def test_models_of_other_runs_are_refused(self):
        other = self.train({"data.train": "x.npy,y.npy", "objective.name": "squared"})
        target = self.run_.path / "model.safetensors"
        target.write_bytes((other.path / "model.safetensors").read_bytes())
        with self.assertRaisesRegex(dpmpi.PrivacyRefusal, "is not the model of .*certificate.json"):
            self.run_.model
        changed = bytearray(self.file)
        changed[-1] ^= 1
        target.write_bytes(changed)
        with self.assertRaises(dpmpi.PrivacyRefusal):
            self.run_.model
        target.write_bytes(self.file)
        self.assertEqual(self.run_.model.objective, "squared")

    def test_model_files_that_are_cut_or_forged_are_errors(self):
        size = int.from_bytes(self.file[:8], "little")
        header = json.loads(self.file[8:8 + size])
        forged = [b"", self.file[:7], self.file[:40], self.file[:-1], b"\xff" * 8 + self.file[8:],
                  (8).to_bytes(8, "little") + b"[" * 8, (5).to_bytes(8, "little") + b"[1,2]"]
        for change in ({"dtype": "F64"}, {"shape": [3]}, {"shape": [-4]}, {"shape": [2**62, 4]}, {"shape": "x"},
                       {"data_offsets": [0, 2**70]}, {"data_offsets": [-16, 0]}, {"data_offsets": []},
                       {"shape": [float("inf")]}, {"shape": [1, 4.5]}, {"shape": [1, "4"]}, {"shape": [1] * 100 + [4]},
                       {"data_offsets": [0.0, 16.0]}, {"data_offsets": [False, 16]}):
            text = json.dumps({**header, "weight": {**header["weight"], **change}}).encode()
            forged.append(len(text).to_bytes(8, "little") + text + self.file[8 + size:])
        for metadata in ({"features": "99999999999999999999"}, {"features": "-1"}, {"recipe": "[data]\nmean = x:1"}):
            text = json.dumps({**header, "__metadata__": {**header["__metadata__"], **metadata}}).encode()
            forged.append(len(text).to_bytes(8, "little") + text + self.file[8 + size:])
        for number, content in enumerate(forged):
            Path("forged.safetensors").write_bytes(content)
            with self.subTest(number), self.assertRaises(dpmpi.DataError):
                dpmpi.load_model("forged.safetensors").predict(records())

    def test_model_files_whose_tensors_do_not_fill_them_are_errors_before_there_is_memory(self):
        """Sparse files: numbers that no disk holds."""
        size = int.from_bytes(self.file[:8], "little")
        header = json.loads(self.file[8:8 + size])
        large = 1 << 42  # bytes, of zeros
        for tensor, says in (({}, "bytes of numbers, and its header speaks of"),
                             ({"shape": [1, large // 4], "data_offsets": [0, large]}, "not enough memory"),
                             ({"shape": [1, 4], "data_offsets": [8, 24]}, "is not where its header says")):
            changed = {"__metadata__": header["__metadata__"], "weight": {**header["weight"], **tensor}}
            text = json.dumps(changed).encode()
            Path("forged.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
            os.truncate("forged.safetensors", 8 + len(text) + large)
            with self.subTest(says), self.assertRaisesRegex(dpmpi.DataError, says):
                dpmpi.load_model("forged.safetensors")

    def test_certificates_that_say_nothing_are_errors(self):
        path = self.run_.path / "certificate.json"
        for text, lacks in (("{}", "no epsilon and no delta"), ('{"epsilon": "1", "delta": 0}', "no epsilon$"),
                            ('{"epsilon": 1, "delta": null}', "no delta"), ('{"epsilon": -1, "delta": 0}', "no epsilon")):
            path.write_text(text)
            for read in (lambda run: run.epsilon, lambda run: run.delta, lambda run: run.certificate):
                with self.subTest(text), self.assertRaisesRegex(dpmpi.DataError, f"is no certificate: it has {lacks}"):
                    read(dpmpi.Run(self.run_.path))
            with self.assertRaisesRegex(dpmpi.DataError, "is no certificate: it has no model_digest"):
                self.run_.model
        path.write_text('{"epsilon": "infinity", "delta": 0}')
        self.assertEqual(self.run_.epsilon, np.inf)

    def test_messages_hold_nothing_that_a_terminal_obeys(self):
        """Of texts in a file of somebody else, and of those that the program quotes."""
        evil = "\x1b]0;owned\x9b2J"
        Path("columns.txt").write_text(f"{evil} number\nb yes/no\n")
        Path("t.csv").write_text(f"a,b{evil},y\n1,2,1\n3,4,-1\n")
        for make in (lambda: self.train({"data.train": "t.csv", "data.columns": "columns.txt", "data.header": "yes"}),
                     lambda: dpmpi.load_model(evil), lambda: dpmpi.Run(evil)):
            with self.assertRaises(dpmpi.Error) as caught:
                make()
            self.assertRegex(str(caught.exception), r"^[\x20-\x7e\n]+$")
        self.assertEqual(str(dpmpi.DataError("Größe\n  \x1b[2J\u202e")), "Größe\n  \\x1b[2J\\u202e")

    def test_recipes_that_were_changed_anyhow_are_errors_of_the_file_or_models(self):
        """Any byte of the settings, of the columns and of the header: no exception but ours, and soon."""
        with open("columns.txt", "w") as file:
            file.write("a number range=0..3\nb category words=u,v other indicator\n"
                       "c date format=%Y-%m from=2000-01-01\nd number mean=1 missing=NULL impute=3\n")
        X = records()
        table = {"a": X[:, 0], "b": ["u", "x"] * 40, "c": ["2001-02"] * 80, "d": X[:, 1]}
        y = np.digitize(X[:, 0], [-0.5, 0.5])
        self.write_table("t.csv", [*table, "y"], [*table.values(), y])
        (self.folder / "columns.txt").write_text((self.folder / "columns.txt").read_text() + "y label\n")
        image = records(n=80, d=72)
        np.save("i.npy", image)
        np.save("iy.npy", y)
        runs = [(table, {"data.train": "t.csv", "data.columns": "columns.txt", "data.header": "yes",
                         "objective.name": "mlp", "objective.hidden": 3, "objective.classes": 3}),
                (image, {"data.train": "i.npy,iy.npy", "data.image": "1x8x9", "data.transform": "scattering J=1 L=2",
                         "data.normalize": "l2", "objective.name": "network", "objective.classes": 3,
                         "objective.input": "3x4x4", "data.mean": "3:0.5",
                         "objective.layers": "residual(conv 3 3 pad 1, relu), maxpool 2, flatten, dense 3"})]
        draw = np.random.default_rng(11)
        for X, settings in runs:
            content = (self.train(settings).path / "model.safetensors").read_bytes()
            size = int.from_bytes(content[:8], "little")
            for _ in range(150):
                forged = bytearray(content)
                forged[8 + draw.integers(0, size)] = draw.choice(list(b"0129,:x=(){}\"\\ae \n"))
                Path("forged.safetensors").write_bytes(forged)
                try:
                    self.assertEqual(dpmpi.load_model("forged.safetensors").scores(X).shape[0], 80)
                except dpmpi.DataError:
                    pass

    def test_files_that_are_no_files_are_errors(self):
        for make in (lambda path: os.mkfifo(path), lambda path: os.mkdir(path),
                     lambda path: os.symlink("/dev/zero", path), lambda path: path.write_text("[" * 100000 + "\n"),
                     lambda path: path.write_text("3\n")):
            for name in ("certificate.json", "metrics.jsonl", "ledger.jsonl"):
                path = self.run_.path / name
                kept = path.read_bytes()
                path.unlink()
                make(path)
                with self.subTest(name), self.assertRaises(dpmpi.DataError):
                    run = dpmpi.Run(self.run_.path)
                    run.certificate, run.metrics, run.ledger, run.model
                os.rmdir(path) if path.is_dir() else path.unlink()
                path.write_bytes(kept)


class Imports(unittest.TestCase):
    def test_need_numpy_alone(self):
        program = ("import sys, dpmpi; print(sorted({name.split('.')[0] for name in sys.modules} & "
                   "{'sklearn', 'scipy', 'pandas', 'IPython', 'matplotlib', 'onnx'}))")
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "[]\n")

    def test_name_no_module_by_a_text_and_load_no_pickle(self):
        """What a path or a file says could be imported by these alone."""
        for source in (PACKAGE / "dpmpi").rglob("*.py"):
            text = source.read_text()
            for word in ("importlib", "__import__", "eval(", "exec(", "pickle", "np.load", "shell=True", "os.system"):
                self.assertNotIn(word, text.replace("shift_of_logits(", ""), source)
