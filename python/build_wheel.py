"""What pip calls to make a wheel of the folder dpmpi (PEP 517): an archive of its files, with a list of them.

The usual builders would be downloaded first, and machines with private records are often without a network.
"""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = re.search(r'__version__ = "([^"]+)"', (HERE / "dpmpi/__init__.py").read_text()).group(1)
INFO = f"dpmpi-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: dpmpi
Version: {VERSION}
Summary: Train models on sensitive records with a proof of privacy: the program dpmpi from Python
Requires-Python: >=3.9
Requires-Dist: numpy>=1.20
Provides-Extra: sklearn
Requires-Dist: scikit-learn>=1.2; extra == "sklearn"
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel, and returns its name."""
    files = {str(path.relative_to(HERE)): path.read_bytes() for path in sorted((HERE / "dpmpi").rglob("*"))
             if path.suffix == ".py" or path.name == "py.typed"}
    files.update({f"{INFO}/METADATA": METADATA.encode(), f"{INFO}/WHEEL": WHEEL.encode()})
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{INFO}/RECORD"] = "".join([*lines, f"{INFO}/RECORD,,\n"]).encode()
    name = f"dpmpi-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no archive of sources: install from a checkout")


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
