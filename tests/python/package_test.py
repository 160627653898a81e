"""The package as pip gets it."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import dpmpi
from support import InFolder

PYTHON = Path(__file__).resolve().parents[2] / "python"


class Wheel(InFolder):
    def made(self):
        program = "import build_wheel; print(build_wheel.build_wheel('.'))"
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(PYTHON)},
                              stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def test_holds_the_package_and_a_list_of_it(self):
        with zipfile.ZipFile(self.made()) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        info = f"dpmpi-{dpmpi.__version__}.dist-info"
        listed = {name: digest for name, digest, _ in csv.reader(io.StringIO(files[f"{info}/RECORD"].decode()))}
        self.assertEqual(listed.keys(), files.keys())
        for name, content in files.items():
            if not name.endswith("RECORD"):
                own = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual(listed[name], f"sha256={own}")
        sources = {str(path.relative_to(PYTHON)) for path in (PYTHON / "dpmpi").rglob("*.py")} | {"dpmpi/py.typed"}
        self.assertEqual({name for name in files if not name.startswith(info)}, sources)

    def test_is_installed_without_a_network(self):
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("skipped: no pip for this python3")
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", "there",
                               str(PYTHON)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        where = subprocess.run([sys.executable, "-c", "import dpmpi; print(dpmpi.__file__)"], stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": "there"}, text=True, check=True).stdout.strip()
        self.assertEqual(where, f"{self.folder}/there/dpmpi/__init__.py")
        self.assertEqual(sorted(path.name for path in PYTHON.iterdir() if path.name != "__pycache__"),
                         ["README.md", "build_wheel.py", "dpmpi", "pyproject.toml"])

    def test_has_the_version_of_the_program(self):
        said = subprocess.run([os.environ["DPMPI"], "--version"], stdout=subprocess.PIPE, text=True).stdout
        self.assertIn(dpmpi.__version__, said)
