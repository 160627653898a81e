"""train, resume and Run: the program's results, its errors as exceptions, and nothing left behind."""

import concurrent.futures
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np

import dpmpi
from dpmpi import _private_folder, _program
from dpmpi._config import ini_of, settings_of
from dpmpi.model.recipe import read_settings
from support import TINY, InFolder, children_of, is_running, records

PACKAGE = Path(dpmpi.__file__).resolve().parents[1]
# Steps that take long enough to be stopped.
LONG = {**TINY, "data.train": "x.npy,y.npy", "method.steps": 2000000, "run.checkpoint_every": 1000}


class Training(InFolder):
    def setUp(self):
        super().setUp()
        X = records(200)
        np.save("x.npy", X)
        np.save("y.npy", np.sign(X[:, 0]))
        self.config = {**TINY, "data": {"train": "x.npy,y.npy", "eval": "e.npy,ey.npy"}, "data.blocks": 2}
        np.save("e.npy", records(50, seed=2))
        np.save("ey.npy", np.sign(records(50, seed=2)[:, 0]))

    def test_on_two_ranks_has_the_bytes_of_one(self):
        """With a seed for tests, which makes noise that can come again."""
        models = [dpmpi.train({**self.config, "privacy.seed": 5}, ranks=n, show=False).path / "model.safetensors"
                  for n in (1, 2)]
        tensors = [dpmpi.load_model(model.parent).scores(records()).tolist() for model in models]
        self.assertEqual(tensors[0], tensors[1])
        self.assertEqual([model.parent.name for model in models], ["python", "python-2"])

    def test_gives_a_run_with_certificate_ledger_and_metrics(self):
        run = dpmpi.train(self.config, ranks=1, run_dir="mine", show=False)
        self.assertEqual(run.path, self.folder / "mine")
        self.assertTrue(run.finished)
        self.assertGreater(run.epsilon, 0)
        self.assertEqual(run.delta, 1e-5)
        self.assertIn("differentially private", run.certificate["statement"])
        self.assertEqual([line.get("event") for line in run.ledger], [None, "poisson_gaussian"])
        self.assertEqual(run.plan["n"], 200)
        metrics = run.metrics
        self.assertEqual(metrics["step"].tolist(), [0, 1, 2, 3])
        self.assertEqual(metrics["eval.accuracy"].shape, (4,))
        self.assertTrue((np.diff(metrics["epsilon"]) > 0).all())
        self.assertTrue(dpmpi.verify(run)["verified"])
        self.assertEqual(repr(run), f"Run('{self.folder}/mine')")

    def test_works_in_a_thread_which_can_have_no_handlers_of_signals(self):
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            run = threads.submit(dpmpi.train, self.config, 1, show=False).result()
        self.assertTrue(run.finished)

    def test_has_a_report_that_opens(self):
        run = dpmpi.train(self.config, ranks=1, show=False)
        with mock.patch("webbrowser.open", return_value=True) as browser:
            self.assertTrue(run.open_report())
        browser.assert_called_once_with(f"file://{run.path}/report.html")
        os.remove(run.path / "report.html")
        with self.assertRaisesRegex(dpmpi.DataError, "dpmpi report"):
            run.open_report()

    def test_takes_a_config_file(self):
        Path("small.ini").write_text(ini_of(settings_of(self.config)))
        run = dpmpi.train("small.ini", ranks=1, show=False)
        self.assertEqual(run.path, self.folder / "runs/small")
        longer = dpmpi.train(Path("small.ini"), ranks=1, settings={"method": {"steps": 5}}, show=False)
        self.assertEqual(longer.path, self.folder / "runs/small-2")
        self.assertEqual((run.certificate["steps"], longer.certificate["steps"]), (3, 5))
        named = dpmpi.train("small.ini", ranks=1, settings={"run.dir": "named"}, show=False)
        self.assertEqual(named.path, self.folder / "named")

    def test_shows_what_the_program_says_or_nothing(self):
        for show in (True, False):
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                dpmpi.train(self.config, ranks=1, show=show)
            self.assertEqual("done in" in shown.getvalue(), show)
        self.assertEqual(shown.getvalue(), "")

    def test_redraws_a_line_where_standard_output_does(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        for output, how in ((Terminal(), "bar"), (io.StringIO(), "lines")):
            with contextlib.redirect_stdout(output):
                run = dpmpi.train({**self.config, "method.steps": 1}, ranks=1)
            self.assertIn(f"progress = {how}\n", (run.path / "config.ini").read_text())

    def test_leaves_no_folder_of_its_own(self):
        os.mkdir("private")
        with mock.patch.dict(os.environ, DPMPI_PRIVATE_FOLDER=str(self.folder / "private")):
            with self.assertRaises(dpmpi.ConfigError):
                dpmpi.train({**self.config, "method.bacth": 1}, ranks=1, show=False)
            dpmpi.train(self.config, ranks=1, show=False)
            dpmpi.plan(self.config, ranks=[1])
        self.assertEqual(os.listdir("private"), [])

    def test_that_goes_wrong_raises_by_exit_code_with_the_message(self):
        cases = [(dpmpi.ConfigError, 2, {"method.bacth": 1}, "config:[0-9]+: unknown key method.bacth; did you mean"),
                 (dpmpi.DataError, 3, {"data.train": "nothing.npy,y.npy"}, "nothing.npy was not found"),
                 (dpmpi.PrivacyRefusal, 4, {"data.eval": "x.npy,y.npy"}, "privacy refusal")]
        for kind, code, settings, message in cases:
            for ranks in (1, 2):
                with self.subTest(settings, ranks=ranks), self.assertRaisesRegex(kind, message) as caught:
                    dpmpi.train({**settings_of(self.config), **settings}, ranks=ranks, show=False)
                self.assertEqual(caught.exception.code, code)
                self.assertNotIn("MPI_ABORT", str(caught.exception))
        for ranks in (0, 1.5, True, "2"):
            with self.assertRaisesRegex(dpmpi.ConfigError, "whole numbers from 1"):
                dpmpi.train(self.config, ranks=ranks, show=False)

    def test_that_is_interrupted_leaves_a_checkpoint_to_go_on_with(self):
        for number, ranks in ((signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGKILL, 2)):
            with self.subTest(number):
                folder = self.folder / f"stopped-{number}"
                child = self.start_training(folder, ranks)
                self.wait_for(lambda: (folder / "ledger.jsonl").is_file()
                              and b"poisson" in (folder / "ledger.jsonl").read_bytes())
                time.sleep(0.3)
                started = children_of(child.pid)
                self.assertTrue(started)
                child.send_signal(number)
                said = child.communicate(timeout=60)[1]
                self.assertIn("KeyboardInterrupt" if number == signal.SIGINT else "", said)
                self.assertNotEqual(child.returncode, 0)
                self.wait_for(lambda: not any(map(is_running, started)))  # after SIGKILL they end later than Python
                self.assertTrue((folder / "checkpoint/latest").is_file(), said)
                self.assertFalse(dpmpi.Run(folder).finished)
                with self.assertRaisesRegex(dpmpi.DataError, "not finished"):
                    dpmpi.Run(folder).certificate

    def start_training(self, folder, ranks):
        program = f"import dpmpi; dpmpi.train({ {**LONG, 'data.blocks': 2}!r}, ranks={ranks}, run_dir={str(folder)!r})"
        return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})

    def test_that_was_stopped_goes_on(self):
        stopping = {**self.config, "run.max_hours": 1e-9, "method.steps": 200, "privacy.seed": 3}
        with self.assertRaises(dpmpi.Stopped) as caught:
            dpmpi.train(stopping, ranks=1, run_dir="stopped", show=False)
        self.assertEqual(caught.exception.code, 6)
        run = dpmpi.resume("stopped", ranks=2, settings={"run.max_hours": 0}, show=False)
        self.assertTrue(run.finished)
        whole = dpmpi.train({**stopping, "run.max_hours": None}, ranks=1, show=False)
        self.assertEqual(run.model.scores(records()).tolist(), whole.model.scores(records()).tolist())
        with self.assertRaisesRegex(dpmpi.ConfigError, "finished"):
            dpmpi.resume(run, ranks=1, show=False)


class Configs(InFolder):
    def test_that_are_dictionaries_become_files_that_say_the_same(self):
        settings = settings_of({"data": {"train": "a, b.csv", "one_hot": ["x:u|v", "y:w"], "columns": None},
                                "method.rate": 1e-05, "method.seed": 3, "privacy.keep": True,
                                "run.dir": ' "odd" # \\ name '})
        self.assertEqual(read_settings(ini_of(settings)),
                         {"data.train": "a, b.csv", "data.one_hot": "x:u|v, y:w", "method.rate": "1e-05",
                          "method.seed": "3", "privacy.keep": "true", "run.dir": ' "odd" # \\ name ',
                          "data.root": str(self.folder)})

    def test_cannot_say_more_than_their_keys(self):
        for wrong in ({"run.dir": "x\n[privacy]\nnoise = none"}, {"run.dir\n[privacy]\nnoise": "none"}, {"epsilon": 1},
                      {"data": {"train\n": "x"}}, {3: 4}):
            with self.assertRaises(dpmpi.ConfigError):
                settings_of(wrong)


class Launchers(InFolder):
    def test_are_those_of_slurm_within_an_allocation(self):
        self.change(SLURM_JOB_ID="7", PATH=str(self.folder))
        self.put("srun")
        self.assertEqual(_program.launcher(3), ["srun", "--mpi=pmix", "-n", "3"])

    def test_are_mpirun_elsewhere_and_none_for_one_rank(self):
        self.change(SLURM_JOB_ID=None, PATH=str(self.folder))
        self.assertEqual(_program.launcher(1), [])
        with self.assertRaisesRegex(dpmpi.ConfigError, "mpirun, which is not in PATH"):
            _program.launcher(2)
        self.put("mpirun")
        self.assertEqual(_program.launcher(2), ["mpirun", "-n", "2"])

    def test_start_the_program_that_is_named_or_in_path_never_one_of_the_working_directory(self):
        self.put("dpmpi")
        self.change(DPMPI=None, PATH=f":.:{self.folder}/bin")
        self.assertNotEqual(os.path.dirname(self.found()), str(self.folder))
        os.mkdir("bin")
        self.put("bin/dpmpi")
        self.assertEqual(self.found(), f"{self.folder}/bin/dpmpi")
        self.change(DPMPI="dpmpi")
        self.assertEqual(self.found(), f"{self.folder}/dpmpi")
        self.change(DPMPI="nowhere")
        with self.assertRaisesRegex(dpmpi.ConfigError, "DPMPI=nowhere is no program"):
            self.found()

    def test_on_several_nodes_need_a_folder_that_all_of_them_see(self):
        self.change(SLURM_JOB_NUM_NODES="2", DPMPI_PRIVATE_FOLDER=None)
        with self.assertRaisesRegex(dpmpi.ConfigError, "several nodes: set DPMPI_PRIVATE_FOLDER"):
            with _private_folder.private_folder():
                pass
        self.change(DPMPI_PRIVATE_FOLDER=str(self.folder))
        with _private_folder.private_folder() as folder:
            self.assertEqual(folder.parent, self.folder)
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        self.assertFalse(folder.exists())

    def found(self):
        try:
            return _program.find_program()
        except dpmpi.ConfigError as error:
            if "was not found" in str(error):
                return ""
            raise

    def put(self, name):
        Path(name).write_text("#!/bin/sh\n")
        os.chmod(name, 0o700)

    def change(self, **variables):
        """The environment, for this test."""
        patch = mock.patch.dict(os.environ, {name: value for name, value in variables.items() if value is not None})
        patch.start()
        self.addCleanup(patch.stop)
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
