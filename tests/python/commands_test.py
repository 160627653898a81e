"""plan, account, calibrate, verify and evaluate answer what the program answers."""

import json
from pathlib import Path

import numpy as np

import dpmpi
from support import TINY, InFolder, records

EVENT = {"event": "poisson_gaussian", "sampling_rate": 0.01, "noise_multiplier": 1, "count": 1000}


class Commands(InFolder):
    def trained(self):
        X = records()
        np.save("x.npy", X)
        np.save("y.npy", np.sign(X[:, 0]))
        np.save("e.npy", records(50, seed=2))
        np.save("ey.npy", np.sign(records(50, seed=2)[:, 0]))
        return self.train({"data.train": "x.npy,y.npy"})

    def test_account_takes_events_and_ledgers(self):
        answer = dpmpi.account([EVENT], delta=1e-5)
        self.assertAlmostEqual(answer["epsilon"], 1.82837363, places=6)
        self.assertLess(answer["interval"][0], answer["interval"][1])
        back = dpmpi.account([EVENT], epsilon=answer["epsilon"])
        self.assertAlmostEqual(back["delta"], 1e-5, places=8)
        run = self.trained()
        of_run = dpmpi.account(run.path / "ledger.jsonl", delta=1e-5, accountant="rdp")
        self.assertAlmostEqual(of_run["epsilon"], run.epsilon, places=9)
        self.assertGreater(dpmpi.account([EVENT], delta=1e-5, group=2)["epsilon"], answer["epsilon"])

    def test_account_refuses_what_the_program_refuses(self):
        with self.assertRaisesRegex(dpmpi.PrivacyRefusal, "sampling_rate"):
            dpmpi.account([{**EVENT, "sampling_rate": 2}], delta=1e-5)
        with self.assertRaisesRegex(dpmpi.ConfigError, "delta|epsilon"):
            dpmpi.account([EVENT])

    def test_calibrate_finds_noise_that_account_agrees_with(self):
        unknown = {**EVENT, "noise_multiplier": "?"}
        answer = dpmpi.calibrate([unknown], epsilon=1.0, delta=1e-5)
        again = dpmpi.account([{**EVENT, "noise_multiplier": answer["noise_multiplier"]}], delta=1e-5)
        self.assertLessEqual(again["epsilon"], 1)
        self.assertGreater(again["epsilon"], 0.99)

    def test_plan_takes_dictionaries_and_files(self):
        self.trained()
        config = {**TINY, "data.train": "x.npy,y.npy"}
        plan = dpmpi.plan(config, ranks=[1])
        self.assertEqual((plan["n"], plan["steps"], plan["data"]["features"]), (80, 3, 4))
        Path("a.ini").write_text("[data]\ntrain = x.npy,y.npy\n")
        with self.assertRaisesRegex(dpmpi.ConfigError, "privacy.epsilon"):
            dpmpi.plan("a.ini")

    def test_verify_says_whether_a_run_fits_together(self):
        run = self.trained()
        self.assertTrue(dpmpi.verify(run.path)["verified"])
        certificate = json.loads((run.path / "certificate.json").read_text())
        certificate["epsilon"] /= 2
        (run.path / "certificate.json").write_text(json.dumps(certificate))
        answer = dpmpi.verify(run)
        self.assertFalse(answer["verified"])
        self.assertEqual(answer["checks"][-1]["result"], "BAD")

    def test_evaluate_measures_public_records(self):
        run = self.trained()
        answer = dpmpi.evaluate(run, "e.npy,ey.npy", bootstrap=0)
        right = np.mean(run.model.predict(np.load("e.npy")) == np.load("ey.npy"))
        self.assertAlmostEqual(answer["metrics"]["accuracy"], right)
        with self.assertRaises(dpmpi.PrivacyRefusal):
            dpmpi.evaluate(run, "x.npy,y.npy")
