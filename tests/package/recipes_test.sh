#!/usr/bin/env bash
# The recipes of Spack and conda can be read: ctest -C package -L package. Nobody builds them here.
set -euo pipefail
cd "$(dirname "$0")/../../packaging"
command -v python3 >/dev/null && python3 -c 'import yaml' 2>/dev/null || { echo "skipped: no python3 with yaml"; exit 77; }
python3 - <<'END'
import ast, pathlib, re, yaml

recipe = ast.parse(pathlib.Path("spack/packages/dpmpi/package.py").read_text())
assert any(isinstance(node, ast.ClassDef) and node.name == "Dpmpi" for node in recipe.body), "no class Dpmpi"
assert yaml.safe_load(pathlib.Path("spack/repo.yaml").read_text())["repo"]["namespace"] == "dpmpi"
text = re.sub(r"{%.*?%}", "", pathlib.Path("conda/meta.yaml").read_text())
conda = yaml.safe_load(re.sub(r"{{.*?}}", "x", text))
assert {"package", "source", "build", "requirements", "test"} <= set(conda), sorted(conda)
version = re.search(r"project\(dpmpi VERSION (\S+)", pathlib.Path("../CMakeLists.txt").read_text())[1]
for file in ("spack/packages/dpmpi/package.py", "conda/meta.yaml"):
    assert f'"{version}"' in pathlib.Path(file).read_text(), f"{file} is of another version than {version}"
print("both recipes can be read, and are of version", version)
END
